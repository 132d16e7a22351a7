import { LockContext } from '../../libs/redis-lock/dist/esm/core/lock-context.js';
import { openIoredisConnection } from '../../libs/redis-lock/dist/esm/ioredis/ioredis-connection.js';
import { HOST, WAIT_MS } from '../terms.mjs';

/**
 * As the module makes it for an application; leases are kept by the watchdog.
 * @param {import('../terms.mjs').Terms} terms
 */
export function openContext({ port, leaseMs }) {
  const connection = openIoredisConnection(`redis://${HOST}:${port}`);
  return new LockContext(connection, { leaseTimeMs: leaseMs, waitTimeMs: WAIT_MS });
}

/** @param {{ acquire(name: string): Promise<{ release(): Promise<void> }> }} locks */
export function ourLocks(locks) {
  return {
    async acquire(key) {
      const lease = await locks.acquire(key);
      return () => lease.release();
    },
  };
}
