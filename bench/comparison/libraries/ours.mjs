import { CurrentLock, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import * as main from 'nestjs-redis-lock';
import { openLocks } from 'nestjs-redis-lock/core';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';

export const client = 'ioredis';
export const exported = [main];

/** @param {string} connection */
export function open(connection) {
  const locks = openLocks({ connection });
  const brief = openLocks({ connection, watchdogLeaseMs: 3_000 });
  const held = (lease) => ({ handle: lease, release: () => lease.release() });
  const orNull = (lease) => lease && held(lease);
  return {
    using: (key, work) => brief.lock.using(key, ({ signal }) => work(signal)),
    acquire: async (key) => held(await locks.lock.acquire(key, { waitTimeMs: Infinity })),
    acquireFair: async (key) => held(await locks.fair.acquire(key, { waitTimeMs: Infinity })),
    tryRead: async (key) => orNull(await locks.readWrite.get(key).read.tryAcquire()),
    tryWrite: async (key) => orNull(await locks.readWrite.get(key).write.tryAcquire()),
    tryPermit: async (key, capacity) =>
      orNull(await locks.semaphore.get(key, { capacity }).tryAcquire()),
    latch: (key) => locks.latch.get(key),
    acquireFenced: async (key) => {
      const lease = await locks.lock.acquire(key, { fenced: true });
      return { ...held(lease), token: lease.fencingToken };
    },
    close: () => Promise.all([locks.close(), brief.close()]),
  };
}

export const nest = {
  module: (/** @type {string} */ connection) =>
    RedisLockModule.forRoot({ connection, watchdogLeaseMs: 3_000 }),
  decorator: (/** @type {string} */ key) => WithLock(key),
  signal: () => CurrentLock.lease().signal,
  moduleWithoutRedis: () => RedisLockTestingModule.forRoot({ clock: 'system' }),
};
