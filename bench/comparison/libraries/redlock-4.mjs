import Bluebird from 'bluebird';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { LEASE_MS, LONG_MS } from '../terms.mjs';

export const client = 'ioredis';
export const exported = [{ Redlock }];

/** @param {string} url */
export function open(url) {
  const redis = new Redis(url);
  const redlock = new Redlock([redis], { retryCount: -1 });
  return {
    using: (key, work) => Bluebird.using(redlock.disposer(key, LEASE_MS), () => work()),
    acquire: async (key) => {
      const lock = await redlock.lock(key, LONG_MS);
      return { handle: lock, release: () => lock.unlock() };
    },
    close: () => redis.disconnect(),
  };
}
