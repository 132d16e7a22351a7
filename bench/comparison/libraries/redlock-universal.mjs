import { Redis } from 'ioredis';
import { Redlock, RedlockModule } from 'nestjs-redlock-universal';
import * as nestModule from 'nestjs-redlock-universal';
import { createLock, IoredisAdapter, MemoryAdapter } from 'redlock-universal';
import * as main from 'redlock-universal';
import { LEASE_MS, LONG_MS } from '../terms.mjs';

export const client = 'ioredis';
export const exported = [main, nestModule];

/** @param {string} url */
export function open(url) {
  const redis = new Redis(url);
  const adapter = new IoredisAdapter(redis);
  const lockOf = (key, ttl) => createLock({ adapter, key, ttl, retryAttempts: LONG_MS });
  return {
    using: (key, work) => lockOf(key, LEASE_MS).using(work),
    acquire: async (key) => {
      const lock = lockOf(key, LONG_MS);
      const handle = await lock.acquire();
      return { handle, release: () => lock.release(handle) };
    },
    close: () => redis.disconnect(),
  };
}

export const nest = {
  module: (/** @type {string} */ url) =>
    RedlockModule.forRoot({ nodes: [new IoredisAdapter(new Redis(url))] }),
  decorator: (/** @type {string} */ key) => Redlock({ key, ttl: LEASE_MS }),
  moduleWithoutRedis: () => RedlockModule.forRoot({ nodes: [new MemoryAdapter()] }),
};
