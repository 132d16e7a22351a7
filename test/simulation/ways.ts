import type { Lease } from '../../libs/redis-lock/src/core/api/lease.js';
import type { AcquireOptions } from '../../libs/redis-lock/src/core/api/lock.js';
import type { SemaphoreAcquireOptions } from '../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import type { Random } from '../support/random.js';
import type { Settings } from './plan.js';

/** Callers hold this for a lease: a lock of any kind, or permits. */
export interface Holdable {
  acquire(options?: AcquireOptions): Promise<Lease>;
  tryAcquire(options?: AcquireOptions): Promise<Lease | null>;
  using<T>(work: (lease: Lease) => T, options?: AcquireOptions): Promise<Awaited<T>>;
}

/** One way to hold a key. */
export interface Way {
  readonly key: string;
  readonly holdable: Holdable;
  readonly weight: number;
  readonly inOrder: boolean;
  readonly isReentrant: boolean;
  /** Readers have no tokens. */
  readonly canBeFenced: boolean;
  readonly canBeKept: boolean;
  readonly options?: AcquireOptions & SemaphoreAcquireOptions;
  /** The leases of a lease: of several locks, one for each. */
  readonly parts?: (lease: Lease) => readonly (readonly [key: string, lease: Lease])[];
  /** Another way that a holder may take, and keep when it has left this one. */
  readonly inside?: Way;
  /** Something else that a holder does. */
  readonly work?: (lease: Lease) => Promise<void>;
}

/** A caller waits for the longest time, or as long as the library waits by itself. */
const LONG_MS = 20_000;

export function optionsOf(way: Way, settings: Settings, random: Random): AcquireOptions {
  const { watchdogLeaseMs } = settings;
  const fixed = random.chance(0.15);
  const longestMs = 3 * watchdogLeaseMs;
  return {
    waitTimeMs: random.pick([0, 20, 500, LONG_MS, LONG_MS]),
    ...(fixed ? { leaseTimeMs: Math.max(20, random.int(10, longestMs)) } : {}),
    ...(!fixed && random.chance(0.05) ? { maxHoldMs: random.int(10, 2_000) } : {}),
    ...(!fixed && random.chance(0.05) ? { watchdogLeaseMs: random.int(100, 3_000) } : {}),
    ...(way.canBeFenced && random.chance(0.3) ? { fenced: true } : {}),
    ...(!fixed && way.canBeKept && random.chance(0.03) ? { minHoldMs: random.int(1, 200) } : {}),
    ...way.options,
  };
}

/** The options of a call inside of a hold. */
export function nestedOptionsOf(
  way: Way,
  { watchdogLeaseMs }: Settings,
  random: Random,
): AcquireOptions {
  const isFixed = random.chance(0.1);
  return {
    waitTimeMs: LONG_MS,
    ...(isFixed ? { leaseTimeMs: random.int(100, 3 * watchdogLeaseMs) } : {}),
    ...(!isFixed && way.canBeKept && random.chance(0.03) ? { minHoldMs: random.int(1, 200) } : {}),
    ...way.options,
  };
}

/** One attempt, or one that waits as long as it was going to. */
export function tryOptionsOf(options: AcquireOptions): AcquireOptions {
  return options.waitTimeMs === LONG_MS ? { ...options, waitTimeMs: 0 } : options;
}
