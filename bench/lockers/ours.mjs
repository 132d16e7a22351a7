import { openLocks } from '../../libs/redis-lock/dist/esm/core.js';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'nestjs-redis-lock';

const VARIANTS = { lock, fenced, fair, readers, permits, latch };

/**
 * The library as an application uses it. The watchdog renews the leases.
 * @param {import('../terms.mjs').Terms} terms
 * @param {keyof typeof VARIANTS} [variant] the primitive
 */
export async function create({ port, leaseMs }, variant = 'lock') {
  return lockerOver(`redis://${HOST}:${port}`, leaseMs, variant);
}

/**
 * @param {import('../../libs/redis-lock/dist/esm/core.js').ConnectionOption} connection
 * @param {number} leaseMs
 * @param {keyof typeof VARIANTS} variant
 */
export function lockerOver(connection, leaseMs, variant = 'lock') {
  return VARIANTS[variant](
    openLocks({ connection, watchdogLeaseMs: leaseMs, waitTimeMs: WAIT_MS }),
  );
}

/** @param {(key: string) => Promise<{ release(): Promise<void> }>} acquire */
const acquiring = (acquire) => ({
  async acquire(key) {
    const lease = await acquire(key);
    return () => lease.release();
  },
});

function lock(locks) {
  const hold = (key) => locks.lock.acquire(key);
  return { ...acquiring(hold), hold };
}

function fenced(locks) {
  const hold = (key) => locks.lock.acquire(key, { fenced: true });
  return { ...acquiring(hold), hold };
}

function fair(locks) {
  return acquiring((key) => locks.fair.acquire(key));
}

function readers(locks) {
  return acquiring((key) => locks.readWrite.get(key).read.acquire());
}

function permits({ semaphore }) {
  return {
    permits: (key, count) => semaphore.get(key).trySetPermits(count),
    ...acquiring((key) => semaphore.get(key).acquire()),
  };
}

function latch(locks) {
  return {
    async arm(key) {
      const gate = locks.latch.get(key);
      await gate.trySetCount(1);
      return () => gate.countDown();
    },
    async wait(key) {
      if (!(await locks.latch.get(key).wait())) throw new Error(`The latch ${key} stayed closed`);
    },
  };
}
