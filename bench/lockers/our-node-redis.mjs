import { openLocks } from '../../libs/redis-lock/dist/esm/core.js';
import { nodeRedis } from '../../libs/redis-lock/dist/esm/node-redis.js';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'nestjs-redis-lock, node-redis';

/**
 * The library over node-redis 6.
 * @param {import('../terms.mjs').Terms} terms
 */
export async function create({ port, leaseMs }) {
  const connection = nodeRedis({ url: `redis://${HOST}:${port}` });
  const { lock } = openLocks({ connection, watchdogLeaseMs: leaseMs, waitTimeMs: WAIT_MS });
  const hold = (key) => lock.acquire(key);
  return {
    async acquire(key) {
      const lease = await hold(key);
      return () => lease.release();
    },
    hold,
  };
}
