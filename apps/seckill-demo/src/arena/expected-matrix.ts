import type { StrategyName } from '../strategies/strategy.js';
import type { FaultName, FaultOutcome, FaultResult } from './fault.js';
import type { LoadOutcome, LoadResult } from './load-result.js';
import type { PartName, PartOutcome, PartResult } from './parts/part.js';

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

const NOT_PLAYED: FiveOutcomes = ['none', 'none', 'none', 'none', 'none'];

/**
 * The verdict on every stage of the tutorial, right or wrong; the faults in the order of
 * FAULT_NAMES.
 */
export const EXPECTED: Readonly<Record<StrategyName, Expectation>> = {
  naive: expectation(['oversells', 'oversells'], NOT_PLAYED),
  'in-process': expectation(['exact', 'oversells'], NOT_PLAYED),
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
  fair: expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'refused']),
  'lock-in-tx': expectation(['oversells', 'oversells'], NOT_PLAYED),
};

/** The outcome of each part with its lock and without; undefined: not played, or not certain. */
export const EXPECTED_PARTS: Readonly<
  Record<PartName, { readonly withoutLock?: PartOutcome; readonly withLock: PartOutcome }>
> = {
  queue: { withLock: 'ok' },
  opening: { withLock: 'ok' },
  payment: { withoutLock: 'overloads', withLock: 'ok' },
  offer: { withoutLock: 'torn', withLock: 'ok' },
  cart: { withoutLock: 'deadlock', withLock: 'ok' },
};

export function expectedOf({ part, withLock }: PartResult): PartOutcome | undefined {
  return EXPECTED_PARTS[part][withLock ? 'withLock' : 'withoutLock'];
}

export type Mismatch =
  | { readonly kind: 'load'; readonly expected: LoadOutcome; readonly result: LoadResult }
  | { readonly kind: 'fault'; readonly expected: FaultOutcome; readonly result: FaultResult }
  | { readonly kind: 'part'; readonly expected: PartOutcome; readonly result: PartResult };

export interface Results {
  readonly loads: readonly LoadResult[];
  readonly faults: readonly FaultResult[];
  readonly parts: readonly PartResult[];
}

/** How many cells were compared. */
export function cellsOf({ loads, faults, parts }: Results): number {
  const compared = parts.filter((part) => expectedOf(part) !== undefined);
  return loads.length + faults.length + compared.length;
}

/**
 * Every cell that differs from the matrix. A failure that was expected and did not show differs as
 * well: then the demo demonstrates nothing, or the stage is not the tutorial's any more.
 */
export function mismatchesOf({ loads, faults, parts }: Results): Mismatch[] {
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
  for (const result of parts) {
    const expected = expectedOf(result);
    if (expected === undefined || result.outcome === expected) continue;
    mismatches.push({ kind: 'part', expected, result });
  }
  return mismatches;
}
