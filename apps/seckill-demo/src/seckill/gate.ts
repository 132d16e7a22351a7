import { AsyncLocalStorage } from 'node:async_hooks';

/** The places where the arena may hold a process or a request, in the order in which it passes them. */
export const GATE_POINTS = [
  'warm-up',
  'doors',
  'lock-set',
  'between-reads',
  'before-read',
  'before-write',
  'after-write',
  'before-delete',
  'before-commit',
  'at-gateway',
] as const;
export type GatePoint = (typeof GATE_POINTS)[number];

/** The order that the code works for. */
export interface OrderRef {
  readonly productId: string;
  readonly buyer: string;
}

/** Those who watch the shop learn by it who passes a gate, or holds a lock. */
export const currentOrder = new AsyncLocalStorage<OrderRef>();

/**
 * The seam through which faults are forced instead of hoped for: the arena lets an order run up to
 * a point, does its harm, and lets it go on. In the plain server every gate stands open.
 */
export interface Gate {
  reach(point: GatePoint): Promise<void>;
}

export const GATE = Symbol('Gate');

export const OPEN_GATE: Gate = { reach: () => Promise.resolve() };
