import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'redis-semaphore';

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const client = new Redis(port, HOST);
  const options = { lockTimeout: leaseMs, acquireTimeout: WAIT_MS };
  return {
    async acquire(key) {
      const mutex = new Mutex(client, key, options);
      await mutex.acquire();
      return () => mutex.release();
    },
    hold: (key) => new Mutex(client, key, { ...options, refreshInterval: leaseMs / 3 }).acquire(),
  };
}
