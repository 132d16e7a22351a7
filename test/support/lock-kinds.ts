import {
  FairLockService,
  LockService,
  ReadWriteLockService,
  type Lock,
} from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { useLocks } from './lock-client.js';
import type { RedisFixture } from './redis-server.js';

export type LockKind = 'lock' | 'fair lock' | 'read lock' | 'write lock';

function kindsOn(context: LockContext): Record<LockKind, (name: string) => Lock> {
  const locks = new LockService(context);
  const fairLocks = new FairLockService(context);
  const readWriteLocks = new ReadWriteLockService(context);
  return {
    lock: (name) => locks.get(name),
    'fair lock': (name) => fairLocks.get(name),
    'read lock': (name) => readWriteLocks.get(name).read,
    'write lock': (name) => readWriteLocks.get(name).write,
  };
}

/** Clients that have the locks of a single server, by kind and name. */
export function useLockKinds(redis: RedisFixture) {
  return useLocks(redis, kindsOn);
}
