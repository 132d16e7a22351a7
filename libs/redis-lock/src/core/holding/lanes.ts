import { LockBackendError, MovingSlotError } from '../api/errors.js';
import type { LockKind } from '../api/observer.js';
import type { Hold } from './hold.js';

/** Renewals that are due within this part of their interval share a script. */
const TOGETHER = 1 / 40;

/** The renewals of one connection and one slot. A missing answer delays only its own lane. */
export interface Lane {
  readonly minReplicas: number;
  readonly batches: Map<LockKind, Hold[]>;
  isRunning: boolean;
}

export function newLane(minReplicas: number): Lane {
  return { minReplicas, batches: new Map(), isRunning: false };
}

/** Redis may have refused the script because of one key. The others are renewed apart from it. */
export function mayBeOfOne(error: unknown): boolean {
  if (!(error instanceof LockBackendError) || error instanceof MovingSlotError) return true;
  return error.outcome === 'none' && !error.retryable;
}

export function together(at: number, intervalMs: number): number {
  const step = intervalMs * TOGETHER;
  return Math.floor(at / step) * step;
}
