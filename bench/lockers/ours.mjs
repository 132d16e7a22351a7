import { LockContext } from '../../libs/redis-lock/dist/esm/core/lock-context.js';
import { openIoredisConnection } from '../../libs/redis-lock/dist/esm/ioredis/ioredis-connection.js';
import { LatchService } from '../../libs/redis-lock/dist/esm/primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../../libs/redis-lock/dist/esm/primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../../libs/redis-lock/dist/esm/primitives/read-write-lock/read-write-lock-service.js';
import { LockService } from '../../libs/redis-lock/dist/esm/primitives/lock/lock-service.js';
import { SemaphoreService } from '../../libs/redis-lock/dist/esm/primitives/semaphore/semaphore-service.js';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'nestjs-redis-lock';

const VARIANTS = { lock, fair, readers, permits, latch };

/**
 * As the module makes it for an application; leases are kept by the watchdog.
 * @param {import('../terms.mjs').Terms} terms
 * @param {keyof typeof VARIANTS} [variant] which primitive
 */
export async function create({ port, leaseMs }, variant = 'lock') {
  const connection = openIoredisConnection(`redis://${HOST}:${port}`);
  const options = { leaseTimeMs: leaseMs, waitTimeMs: WAIT_MS };
  return VARIANTS[variant](new LockContext(connection, options));
}

/** @param {(key: string) => Promise<{ release(): Promise<void> }>} acquire */
const acquiring = (acquire) => ({
  async acquire(key) {
    const lease = await acquire(key);
    return () => lease.release();
  },
});

function lock(context) {
  const locks = new LockService(context);
  const hold = (key) => locks.acquire(key);
  return { ...acquiring(hold), hold };
}

function fair(context) {
  const locks = new FairLockService(context);
  return acquiring((key) => locks.acquire(key));
}

function readers(context) {
  const locks = new ReadWriteLockService(context);
  return acquiring((key) => locks.get(key).read.acquire());
}

function permits(context) {
  const semaphores = new SemaphoreService(context);
  return {
    permits: (key, count) => semaphores.get(key).trySetPermits(count),
    ...acquiring((key) => semaphores.get(key).acquire()),
  };
}

function latch(context) {
  const latches = new LatchService(context);
  return {
    async arm(key) {
      const gate = latches.get(key);
      await gate.trySetCount(1);
      return () => gate.countDown();
    },
    async wait(key) {
      if (!(await latches.get(key).wait())) throw new Error(`The latch ${key} stayed closed`);
    },
  };
}
