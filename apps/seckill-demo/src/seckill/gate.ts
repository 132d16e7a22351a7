import { AsyncLocalStorage } from 'node:async_hooks';

/** The points where the arena may hold a process or a request, in the order in which it passes them. */
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

/** The order that the code works on. */
export interface OrderRef {
  readonly productId: string;
  readonly buyer: string;
}

/** Observers of the shop learn here which order passes a gate or holds a lock. */
export const currentOrder = new AsyncLocalStorage<OrderRef>();

/**
 * Faults are forced here, and not left to chance. The arena lets an order run up to a point, causes
 * the fault, and lets the order continue. In the plain server, every gate is open.
 */
export interface Gate {
  reach(point: GatePoint): Promise<void>;
}

export const GATE = Symbol('Gate');

export const OPEN_GATE: Gate = { reach: () => Promise.resolve() };
