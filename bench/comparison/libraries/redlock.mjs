import { Redis } from 'ioredis';
import Redlock from 'redlock';
import * as main from 'redlock';
import { LEASE_MS, LONG_MS } from '../terms.mjs';

export const client = 'ioredis';
export const exported = [main];

/** @param {string} url */
export function open(url) {
  const redis = new Redis(url);
  const redlock = new Redlock([redis]);
  return {
    using: (key, work) => redlock.using([key], LEASE_MS, work),
    acquire: async (key) => {
      const lock = await redlock.acquire([key], LONG_MS, { retryCount: -1 });
      return { handle: lock, release: () => lock.release() };
    },
    close: () => redis.disconnect(),
  };
}
