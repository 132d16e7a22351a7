import type { Lease } from '../../../../libs/redis-lock/src/core/api/lease.js';
import type { AcquireOptions } from '../../../../libs/redis-lock/src/core/api/lock.js';
import type { FencingGuard } from '../../../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import type { RedisClient } from './redis.js';

/** The library's locks of one kind, as in `LockService`. */
export interface Locks {
  using<T>(name: string, work: (lease: Lease) => Promise<T>, options?: AcquireOptions): Promise<T>;
}

/** The surroundings of a strategy, in one process. */
export interface Shop {
  readonly redis: Pick<RedisClient, 'get' | 'hget' | 'set' | 'setnx' | 'pexpire' | 'del' | 'eval'>;
  readonly locks: Locks;
  readonly fairLocks: Locks;
  readonly writeLocks: Locks;
  readonly guard: Pick<FencingGuard, 'write'>;
  /** A lock of this process alone. */
  readonly mutex: { runExclusive<T>(work: () => Promise<T>): Promise<T> };
  readonly leaseMs: number;
  readonly uuid: () => string;
  /** Payment, delivery, and all else that takes time. */
  work(): Promise<void>;
}
