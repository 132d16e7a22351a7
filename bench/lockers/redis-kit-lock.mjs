import { createClient } from '@redis/client';
import { Redlock } from '@redis-kit/lock';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = '@redis-kit/lock';

/** The shortest default pause between two attempts: 200 ms less 100 ms of jitter. */
const SHORTEST_DELAY_MS = 100;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const client = createClient({ socket: { host: HOST, port } });
  await client.connect();
  const redlock = new Redlock([client], { maxRetryAttempts: WAIT_MS / SHORTEST_DELAY_MS });
  const acquire = async (key) => {
    const lock = await redlock.acquire(key, leaseMs);
    if (lock === null) throw new Error(`@redis-kit/lock gave up on ${key}`);
    return lock;
  };
  return {
    async acquire(key) {
      const lock = await acquire(key);
      return () => lock.release();
    },
    async hold(key) {
      const lock = await acquire(key);
      lock.startAutoExtension(leaseMs - leaseMs / 3);
    },
  };
}
