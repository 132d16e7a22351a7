import type { StrategyName } from '../strategies/strategy.js';
import type { FaultName, FaultOutcome, FaultResult } from './fault.js';
import type { LoadOutcome, LoadResult } from './load-result.js';

interface Expectation {
  readonly oneProcess: LoadOutcome;
  readonly severalProcesses: LoadOutcome;
  readonly faults: Readonly<Record<FaultName, FaultOutcome>>;
}

type FiveOutcomes = readonly [FaultOutcome, FaultOutcome, FaultOutcome, FaultOutcome, FaultOutcome];

function expectation(
  [oneProcess, severalProcesses]: readonly [LoadOutcome, LoadOutcome],
  [killed, killedBeforeExpire, slowWork, leaseEnds, frozen]: FiveOutcomes,
): Expectation {
  const faults = {
    'killed-in-section': killed,
    'killed-before-expire': killedBeforeExpire,
    'slow-work': slowWork,
    'lease-ends-before-del': leaseEnds,
    frozen,
  };
  return { oneProcess, severalProcesses, faults };
}

const NO_LOCK: FiveOutcomes = ['none', 'none', 'none', 'none', 'none'];

/** What every stage of the tutorial does, right or wrong; the faults in the order of FAULT_NAMES. */
export const EXPECTED: Readonly<Record<StrategyName, Expectation>> = {
  naive: expectation(['oversells', 'oversells'], NO_LOCK),
  'in-process': expectation(['exact', 'oversells'], NO_LOCK),
  setnx: expectation(['undersells', 'undersells'], ['stuck', 'stuck', 'ok', 'ok', 'ok']),
  'setnx-expire': expectation(
    ['undersells', 'undersells'],
    ['ok', 'stuck', 'foreign-delete', 'foreign-delete', 'stale-write'],
  ),
  'set-nx-px': expectation(
    ['undersells', 'undersells'],
    ['ok', 'ok', 'foreign-delete', 'foreign-delete', 'stale-write'],
  ),
  'owner-check': expectation(
    ['undersells', 'undersells'],
    ['ok', 'ok', 'oversold', 'foreign-delete', 'stale-write'],
  ),
  'lua-release': expectation(
    ['undersells', 'undersells'],
    ['ok', 'ok', 'oversold', 'ok', 'stale-write'],
  ),
  'redis-lock': expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'refused']),
};

export type Mismatch =
  | { readonly kind: 'load'; readonly expected: LoadOutcome; readonly result: LoadResult }
  | { readonly kind: 'fault'; readonly expected: FaultOutcome; readonly result: FaultResult };

/**
 * Every cell that differs from the matrix. A failure that was expected and did not show differs as
 * well: then the demo demonstrates nothing, or the stage is not the tutorial's any more.
 */
export function mismatchesOf(
  loads: readonly LoadResult[],
  faults: readonly FaultResult[],
): Mismatch[] {
  const mismatches: Mismatch[] = [];
  for (const result of loads) {
    const { oneProcess, severalProcesses } = EXPECTED[result.strategy];
    const expected = result.processes === 1 ? oneProcess : severalProcesses;
    if (result.outcome !== expected) mismatches.push({ kind: 'load', expected, result });
  }
  for (const result of faults) {
    const expected = EXPECTED[result.strategy].faults[result.fault];
    if (result.outcome !== expected) mismatches.push({ kind: 'fault', expected, result });
  }
  return mismatches;
}
