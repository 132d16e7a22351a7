import { Cluster } from 'ioredis';
import { openLocks } from '../../libs/redis-lock/dist/esm/core.js';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'nestjs-redis-lock in a Cluster';

/**
 * @param {import('../terms.mjs').Terms & { ports: number[] }} terms
 * @param {'auto' | 'plain' | 'sharded' | 'both'} publish how it announces a release
 */
export async function create({ ports, leaseMs }, publish) {
  const connection = new Cluster(ports.map((port) => ({ host: HOST, port })));
  const tuning = { publish };
  const options = { connection, watchdogLeaseMs: leaseMs, waitTimeMs: WAIT_MS, tuning };
  const { lock } = openLocks(options);
  return {
    async acquire(key) {
      const lease = await lock.acquire(key);
      return () => lease.release();
    },
  };
}
