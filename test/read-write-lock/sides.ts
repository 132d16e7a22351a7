import type { AcquireOptions, Lease } from 'nestjs-redis-lock/core';
import { ReadWriteLockService } from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import type { LockVerbs } from '../contract/suite.js';
import { useLocks, type OpenLocks } from '../support/lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';

/** Clients of read-write locks, whole, or as a service of named locks that knows one side of them. */
export function useReadWriteLocks(redis: RedisFixture) {
  const open = useLocks(redis, (context) => new ReadWriteLockService(context));
  return { open, ...sidesOf(open) };
}

export function sidesOf(open: OpenLocks<ReadWriteLockService>) {
  return { openRead: sideOf(open, 'read'), openWrite: sideOf(open, 'write') };
}

function sideOf(
  open: OpenLocks<ReadWriteLockService>,
  side: 'read' | 'write',
): OpenLocks<LockVerbs> {
  return (options) => {
    const client = open(options);
    const get = (name: string) => client.locks.get(name)[side];
    const locks: LockVerbs = {
      get,
      acquire: async (name, how) => get(name).acquire(how),
      tryAcquire: async (name, how) => get(name).tryAcquire(how),
      using: <T>(
        name: string,
        work: (lease: Lease) => T,
        how?: AcquireOptions,
      ): Promise<Awaited<T>> => get(name).using<T>(work, how),
    };
    return { ...client, locks };
  };
}
