import { afterEach, beforeEach } from '@jest/globals';
import {
  FairLockService,
  LatchService,
  LockService,
  ReadWriteLockService,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import { useRedLocks } from '../support/red-lock-client.js';
import { READ_SCRIPTS, readerKeys } from '../support/redisson-read-write.js';
import { FOREIGN_CLIENT, FOREIGN_OWNER, LOCK_SCRIPTS } from '../support/redisson.js';
import { Gate, redisson, untilQueued, useLocks, useRedis } from '../support/set-up.js';
import { RedisCli } from './redis-cli.js';

export const NAME = 'product_1';
export const LEASE_MS = 30_000;
export const PATIENT = { waitTimeMs: Infinity };

/** The owner of a thread of the Java process. */
export const thread = (number: number) => `${FOREIGN_CLIENT}:${String(number)}`;

/** Three servers, and processes on the first of them, which `cli` shows by their letters. */
export function useStage() {
  const servers = [useRedis(), useRedis(), useRedis()] as const;
  const [redis, , third] = servers;
  const ends: (() => unknown)[] = [];
  const cli = new RedisCli(servers);
  beforeEach(() => cli.open());
  afterEach(() => {
    cli.close();
  });
  const openRed = useRedLocks(servers);
  const open = useLocks(redis, (context) => ({
    lock: new LockService(context),
    fair: new FairLockService(context),
    readWrite: new ReadWriteLockService(context),
    semaphore: new SemaphoreService(context),
    latch: new LatchService(context),
  }));

  const start = (letter: string) => {
    const process = open();
    cli.name(process.context.id, `uuid-${letter}`);
    ends.push(() => process.close());
    return process;
  };
  const startRed = () => {
    const process = openRed();
    cli.name(process.context.id, 'uuid-r');
    return process;
  };
  /** Ends what the steps so far hold. */
  const endAll = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  /** Redis is as before the block. */
  const afresh = async () => {
    await endAll();
    await redis.admin.flushall();
  };

  /** Resolves inside of the work that `using` runs, which goes on until the end. */
  const within = async (using: (work: () => Promise<unknown>) => Promise<unknown>) => {
    const [begun, ended] = [new Gate(), new Gate()];
    const all = using(() => {
      begun.open();
      return ended.opened;
    });
    ends.push(async () => {
      ended.open();
      await all;
    });
    await begun.opened;
  };

  /** The process a holds the lock, and a caller of b waits for it. */
  const queueUp = async () => {
    const lease = await start('a').locks.lock.acquire(NAME);
    const second = start('b');
    const next = second.locks.lock.acquire(NAME, PATIENT);
    next.catch(() => undefined);
    await untilQueued(redis, NAME, [second]);
    return { lease, next };
  };

  const java = {
    lock: (leaseMs = LEASE_MS, owner = FOREIGN_OWNER) =>
      redis.admin.eval(LOCK_SCRIPTS.tryLock, 1, NAME, owner, leaseMs),
    renew: () => redis.admin.eval(LOCK_SCRIPTS.renew, 1, NAME, FOREIGN_OWNER, LEASE_MS),
    unlock: () => redisson.unlock(redis.admin, NAME),
    read: (owner: string) =>
      redis.admin.eval(READ_SCRIPTS.tryLock, 3, ...readerKeys(NAME, owner), owner, LEASE_MS),
  };

  return { ...{ redis, third, cli, ends, java }, start, startRed, endAll, afresh, within, queueUp };
}
