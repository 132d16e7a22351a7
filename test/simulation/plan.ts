import { Random } from '../support/random.js';
import type { LockTuning } from '../../libs/redis-lock/src/core/api/settings.js';
import { MISHAPS, type Mishap } from '../../libs/world/src/mishaps.js';

/** Faults that a world brings about by itself, now and then. */
export const OCCASIONS = [
  ...['stall', 'suspension', 'kill', 'shutdown', 'wall-clock'],
  ...['cut', 'half-open', 'silence', 'latency'],
  ...['pause', 'restart', 'restart-old', 'restart-empty', 'failover'],
  ...['delete', 'force-release', 'eviction', 'full', 'redis-clock', 'script-flush'],
] as const;
export type Occasion = (typeof OCCASIONS)[number];
export type FaultName = Occasion | Mishap;
export const FAULT_NAMES: readonly FaultName[] = [...OCCASIONS, ...MISHAPS];

export const PRIMITIVES = [
  ...['lock', 'fair', 'read-write', 'multi', 'replicated', 'red', 'red-5'],
  ...['semaphore', 'counting-semaphore', 'latch', 'guard', 'job'],
] as const;
/** These have a counterpart of the same keys in Redisson, and Java services beside them. */
export const SHARED: readonly Primitive[] = ['lock', 'fair', 'read-write', 'semaphore'];
export type Primitive = (typeof PRIMITIVES)[number];

export type Settings = Pick<LockTuning, 'pollIntervalMs' | 'claimTimeMs' | 'interop' | 'wakeUp'> & {
  readonly watchdogLeaseMs: number;
  readonly shutdownTimeoutMs: number;
  readonly maxWaitersPerKey: number;
};

/** One history: everything in it follows from these numbers. */
export interface Plan {
  readonly primitive: Primitive;
  readonly seed: number;
  /** 1: the port of the library; 2: ioredis, too. */
  readonly level: 1 | 2;
  readonly sections: number;
  readonly processes: number;
  /** The callers of each process. */
  readonly callers: number;
  readonly keys: number;
  readonly faults: readonly FaultName[];
  /** The threads of Java services beside them. */
  readonly threads: number;
  readonly settings: Settings;
  /** The longest work of most sections. */
  readonly workMs: number;
}

/** The keys that its callers share. */
export function keysOf({ keys }: Plan): string[] {
  return Array.from({ length: keys }, (_, i) => `key${String(i + 1)}`);
}

export type Limits = Partial<
  Pick<Plan, 'level' | 'sections' | 'processes' | 'callers' | 'keys' | 'faults' | 'threads'>
> & { readonly java?: boolean };

/** Each history has a few kinds of faults: with all at once, most histories would be alike. */
export function planOf(primitive: Primitive, seed: number, limits: Limits = {}): Plan {
  const { java = false, ...given } = limits;
  const random = new Random(`${primitive} ${String(seed)}`);
  const most = random.pick([0, 1, 2, 3, 5, FAULT_NAMES.length]);
  const drawn = {
    sections: random.pick([100, 200, 400]),
    processes: random.int(1, 4),
    callers: random.int(1, 8),
    keys: random.pick([1, 1, 1, 2, 3]),
    faults: random.shuffle(FAULT_NAMES).slice(0, most),
  };
  // A stream of its own: with Java or without, the rest is the same.
  const threads = java ? new Random(`${primitive} ${String(seed)} java`).int(1, 8) : 0;
  const plan = { primitive, seed, level: 1, ...drawn, threads, ...given } as const;
  const settings: Settings = {
    watchdogLeaseMs: random.pick([300, 1_000, 1_000, 3_000, 10_000]),
    pollIntervalMs: random.pick([50, 200, 1_000]),
    claimTimeMs: random.pick([500, 1_000, 3_000]),
    interop: random.pick(['auto', 'auto', 'none', 'redisson']),
    wakeUp: random.chance(0.1) ? 'poll' : 'message',
    shutdownTimeoutMs: random.pick([0, 100, 2_000]),
    maxWaitersPerKey: random.chance(0.1) ? 3 : 10_000,
  };
  const workMs = random.pick([0, 2, 2, 20]);
  if (plan.threads > 0 && settings.interop === 'none')
    return { ...plan, settings: { ...settings, interop: 'auto' }, workMs };
  return { ...plan, settings, workMs };
}
