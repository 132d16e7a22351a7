import { Redis } from 'ioredis';
import { Mutex, Semaphore } from 'redis-semaphore';
import * as main from 'redis-semaphore';
import { LEASE_MS, LONG_MS } from '../terms.mjs';

export const client = 'ioredis';
export const exported = [main];
/** It has no function around the work; `using` here is its acquire, its release and its callback. */
export const hasNoWrapper = true;

/** @param {string} url */
export function open(url) {
  const redis = new Redis(url);
  return {
    using: async (key, work) => {
      const lost = new AbortController();
      const onLockLost = (error) => lost.abort(error);
      const mutex = new Mutex(redis, key, { lockTimeout: LEASE_MS, onLockLost });
      await mutex.acquire();
      try {
        return await work(lost.signal);
      } finally {
        await mutex.release();
      }
    },
    acquire: async (key) => {
      const mutex = new Mutex(redis, key, { lockTimeout: LONG_MS, acquireTimeout: LONG_MS });
      await mutex.acquire();
      return { handle: mutex, release: () => mutex.release() };
    },
    tryPermit: async (key, capacity) => {
      const semaphore = new Semaphore(redis, key, capacity);
      const isHeld = await semaphore.tryAcquire();
      return isHeld ? { handle: semaphore, release: () => semaphore.release() } : null;
    },
    close: () => redis.disconnect(),
  };
}
