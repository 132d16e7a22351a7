import type { FaultName, StrategyName } from '../options/names.mjs';

export { FAULT_NAMES } from '../options/names.mjs';
export type { FaultName } from '../options/names.mjs';

/**
 * - `ok`: the next buyer was served, and every figure is right.
 * - `refused`: the late write was refused, and every figure is right.
 * - `stuck`: no buyer can ever buy again.
 * - `foreign-delete`: a process deleted the lock of another holder.
 * - `oversold`: more orders than pieces.
 * - `stale-write`: the stock counter differs from the orders.
 * - `lost-piece`: the product is sold out, but one piece was never sold.
 * - `none`: the stage has no lock in Redis that the fault can break, or the lock of another stage.
 * - `error`: the fault could not be played to its end.
 */
export type FaultOutcome =
  | 'ok'
  | 'refused'
  | 'stuck'
  | 'foreign-delete'
  | 'oversold'
  | 'stale-write'
  | 'lost-piece'
  | 'none'
  | 'error';

export interface FaultResult {
  readonly strategy: StrategyName;
  readonly fault: FaultName;
  readonly outcome: FaultOutcome;
}
