import type { StrategyName } from '../strategies/strategy.js';
import type { Cell, Outcome } from './cell.js';
import type { FaultName, FaultOutcome } from './fault.js';
import type { LoadOutcome } from './load-result.js';
import type { PartName, PartOutcome } from './parts/part.js';

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

/** The verdict on every stage of the tutorial, right or wrong. The faults are in the order of FAULT_NAMES. */
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
  fenced: expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'refused']),
  'sql-update': expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'ok']),
  'lua-decrement': expectation(['exact', 'exact'], ['lost-piece', 'lost-piece', 'ok', 'ok', 'ok']),
  redlock: expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'refused']),
  'redis-semaphore': expectation(['exact', 'exact'], ['ok', 'ok', 'ok', 'ok', 'stale-write']),
};

/** The outcome of each part with its lock and without. Undefined: not played, or not certain. */
export const EXPECTED_PARTS: Readonly<
  Record<PartName, { readonly withoutLock?: PartOutcome; readonly withLock: PartOutcome }>
> = {
  queue: { withLock: 'ok' },
  opening: { withLock: 'ok' },
  payment: { withoutLock: 'overloads', withLock: 'ok' },
  offer: { withoutLock: 'torn', withLock: 'ok' },
  cart: { withoutLock: 'deadlock', withLock: 'ok' },
  ticket: { withoutLock: 'leaks', withLock: 'ok' },
  report: { withoutLock: 'repeats', withLock: 'ok' },
  fence: { withoutLock: 'stale-write', withLock: 'refused' },
};

/** The published outcome of a cell. Undefined: the cell is measured only. */
export function expectedOf(cell: Cell): Outcome | undefined {
  switch (cell.kind) {
    case 'duel':
    case 'rush': {
      const { oneProcess, severalProcesses } = EXPECTED[cell.strategy];
      return cell.processes === 1 ? oneProcess : severalProcesses;
    }
    case 'fault':
      return EXPECTED[cell.strategy].faults[cell.fault];
    case 'part':
      return EXPECTED_PARTS[cell.part][cell.withLock ? 'withLock' : 'withoutLock'];
  }
}
