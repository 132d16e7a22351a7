import { Redis } from 'ioredis';
import { Semaphore } from 'redis-semaphore';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'redis-semaphore';

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const client = new Redis(port, HOST);
  const options = { lockTimeout: leaseMs, acquireTimeout: WAIT_MS };
  let limit = 1;
  return {
    permits: async (_key, permits) => {
      limit = permits;
    },
    async acquire(key) {
      const semaphore = new Semaphore(client, key, limit, options);
      await semaphore.acquire();
      return () => semaphore.release();
    },
  };
}
