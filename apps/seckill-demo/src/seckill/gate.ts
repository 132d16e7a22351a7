/** The places where the arena may hold an order, in the order in which an order passes them. */
export const GATE_POINTS = ['doors', 'lock-set', 'before-write', 'before-delete'] as const;
export type GatePoint = (typeof GATE_POINTS)[number];

/**
 * The seam through which faults are forced instead of hoped for: the arena lets an order run up to
 * a point, does its harm, and lets it go on. In the plain server every gate stands open.
 */
export interface Gate {
  reach(point: GatePoint): Promise<void>;
}

export const GATE = Symbol('Gate');

export const OPEN_GATE: Gate = { reach: () => Promise.resolve() };
