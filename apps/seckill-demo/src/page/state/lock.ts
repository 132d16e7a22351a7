import { lockedProduct } from '../../arena/note.js';
import type { LockReported, Step, Struck } from '../../arena/step.js';
import { SALE } from '../step-log.js';
import type { ProcessState } from './processes.js';

/** The process that holds the lock of the product, by its own reports. */
export interface Holder {
  readonly process: number;
  readonly name: string;
  readonly at: number;
}

/** The process of the shop that was killed or frozen last, and what became of its lock. */
export interface Strike {
  readonly what: 'killed' | 'frozen';
  readonly process: number;
  /** Its number on the page. */
  readonly number: number;
  readonly at: number;
  /** The lock that it held. Undefined: it held none. */
  readonly lock: string | undefined;
  /** The process that acquired the lock afterwards. */
  readonly next: { readonly number: number; readonly afterMs: number } | undefined;
  /** The frozen process has woken up. */
  readonly hasWoken: boolean;
  /** The database has refused its late write. */
  readonly isRefused: boolean;
}

export interface LockState {
  readonly holder: Holder | undefined;
  readonly strike: Strike | undefined;
}

export const noLock: LockState = { holder: undefined, strike: undefined };

/**
 * A lease lasts longer than this. If another process acquires the lock sooner, the killed process
 * died between its release and its report of it.
 */
const SHORTEST_LEASE_MS = 2_000;

/** A visitor has given another command: the story of the last strike is over. */
const OTHER_STORIES: ReadonlyArray<Struck['what']> = [
  ...(['cut', 'blocked', 'redis-paused', 'redis-restarted', 'redis-failed-over'] as const),
];

export function lockAfter(
  lock: LockState,
  step: Step,
  processes: readonly ProcessState[],
): LockState {
  switch (step.kind) {
    case 'cell-began':
      return { ...lock, holder: undefined };
    case 'lock':
      return afterReport(lock, step, processes);
    case 'sale-opened':
      return { ...lock, strike: undefined };
    case 'struck':
      return step.cell === SALE ? { ...lock, strike: afterStrike(lock, step, processes) } : lock;
    default:
      return lock;
  }
}

type At<Happening> = Happening & { readonly at: number };

/** Reports of several processes arrive in any order: the latest one counts. */
function afterReport(
  lock: LockState,
  { at, event, name, process }: At<LockReported>,
  processes: readonly ProcessState[],
): LockState {
  const { holder, strike } = lock;
  if (name === undefined || lockedProduct(name) === undefined) return lock;
  if (holder !== undefined && at < holder.at) return lock;
  if (event === 'released' || event === 'lost') {
    return holder?.process === process ? { ...lock, holder: undefined } : lock;
  }
  if (event !== 'acquired') return lock;
  const number = numberOf(process, processes);
  return { holder: { process, name, at }, strike: strike && afterNext(strike, name, at, number) };
}

function afterNext(strike: Strike, name: string, at: number, number: number): Strike {
  if (strike.lock !== name || strike.next !== undefined || at < strike.at) return strike;
  const afterMs = at - strike.at;
  if (afterMs < SHORTEST_LEASE_MS) return { ...strike, lock: undefined };
  return { ...strike, next: { number, afterMs } };
}

function afterStrike(
  { holder, strike }: LockState,
  { at, what, process }: At<Struck>,
  processes: readonly ProcessState[],
): Strike | undefined {
  if (OTHER_STORIES.includes(what)) return undefined;
  if (process !== undefined && (what === 'killed' || what === 'frozen')) {
    const lock = holder?.process === process ? holder.name : undefined;
    const number = numberOf(process, processes);
    const nothing = { next: undefined, hasWoken: false, isRefused: false };
    return { what, process, number, at, lock, ...nothing };
  }
  if (strike === undefined || strike.process !== process) return strike;
  if (what === 'thawed') return { ...strike, hasWoken: true };
  return what === 'stale-refused' ? { ...strike, isRefused: true } : strike;
}

function numberOf(pid: number, processes: readonly ProcessState[]): number {
  return processes.findIndex(({ process }) => process === pid) + 1;
}
