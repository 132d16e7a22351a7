import { describe, expect, it } from '@jest/globals';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import type { Semaphore } from '../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import { PROMPT_MS } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useLocks } from '../support/lock-client.js';
import { timeoutOf } from '../support/redisson-permits.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

/** Redisson's own tests of RPermitExpirableSemaphore, by name, with the verbs of this library. */
describe('RedissonPermitExpirableSemaphoreTest', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => new SemaphoreService(context));
  const UNKNOWN = '0123456789abcdef'.repeat(2);

  /** A semaphore of so many permits. */
  const semaphoreOf = async (permits: number) => {
    const semaphore = open().locks.get('test');
    await semaphore.setPermits(permits);
    return semaphore;
  };
  const anId = ({ permitIds }: { permitIds: readonly string[] }) => permitIds[0] ?? '';

  it('testUpdateLeaseTime: false for unknown and expired ones, extends the others', async () => {
    const semaphore = await semaphoreOf(1);
    expect(await semaphore.updateLeaseTime(UNKNOWN, 1_000)).toBe(false);
    const short = await semaphore.acquire({ leaseTimeMs: 50 });
    await eventually(async () => (await semaphore.remainingTimeMs(anId(short))) === 0);
    expect(await semaphore.updateLeaseTime(anId(short), 1_000)).toBe(false);
    const lease = await semaphore.acquire({ leaseTimeMs: 1_000 });
    expect(await semaphore.updateLeaseTime(anId(lease), 60_000)).toBe(true);
    expect(await semaphore.remainingTimeMs(anId(lease))).toBeGreaterThan(50_000);
  });

  it('testNotExistent: a semaphore that nobody has set has no permits', async () => {
    const semaphore = open().locks.get('test');
    expect(await semaphore.availablePermits()).toBe(0);
    expect(await semaphore.acquiredPermits()).toBe(0);
    expect(await semaphore.permits()).toBe(0);
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('testAvailablePermits, testAcquiredPermits, testGetPermits: expired ones are free', async () => {
    const semaphore = await semaphoreOf(8);
    await semaphore.acquire({ permits: 3, leaseTimeMs: 100 });
    const lease = await semaphore.acquire({ permits: 2 });
    const counts = async () => [
      await semaphore.availablePermits(),
      await semaphore.acquiredPermits(),
      await semaphore.permits(),
    ];
    await eventually(async () => (await semaphore.acquiredPermits()) === 2);
    expect(await counts()).toEqual([6, 2, 8]);
    await lease.release();
    expect(await counts()).toEqual([8, 0, 8]);
  });

  it('testExpiration: a TTL of the semaphore covers its leases', async () => {
    const semaphore = await semaphoreOf(3);
    await redis.admin.pexpire('test', 300);
    const lease = await semaphore.acquire();
    expect(await redis.admin.pttl(timeoutOf('test'))).toBeGreaterThan(0);
    await eventually(async () => (await redis.admin.dbsize()) === 0);
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('testExpire: whoever waits gets the permit when the lease ends', async () => {
    const semaphore = await semaphoreOf(1);
    const sinceAcquire = new Stopwatch();
    const first = await semaphore.acquire({ leaseTimeMs: 400 });
    const second = await open().locks.get('test').acquire();
    expect(sinceAcquire.realMs).toBeGreaterThan(380);
    expect(sinceAcquire.ms).toBeLessThan(400 + PROMPT_MS);
    expect(await semaphore.tryRelease(anId(first))).toBe(false);
    await second.release();
  });

  it('testExpireTryAcquire: so does whoever tries for a while', async () => {
    const semaphore = await semaphoreOf(1);
    const other = open().locks.get('test');
    expect(await other.permits()).toBe(1);
    await semaphore.acquire({ leaseTimeMs: 1_500 });
    expect(await other.tryAcquire({ waitTimeMs: 400 })).toBeNull();
    expect(await other.tryAcquire({ waitTimeMs: 5_000 })).not.toBeNull();
  });

  it('testTrySetPermits: only the first one sets them', async () => {
    const semaphore = open().locks.get('test');
    expect(await semaphore.trySetPermits(10)).toBe(true);
    expect(await semaphore.availablePermits()).toBe(10);
    expect(await semaphore.trySetPermits(15)).toBe(false);
    expect(await semaphore.availablePermits()).toBe(10);
  });

  it('testSetPermits: makes it larger and smaller, below what is in use too', async () => {
    const semaphore = await semaphoreOf(10);
    const lease = await semaphore.acquire({ permits: 6 });
    for (const [permits, available] of [
      [15, 9],
      [6, 0],
      [2, -4],
    ] as const) {
      await semaphore.setPermits(permits);
      expect(await semaphore.availablePermits()).toBe(available);
      expect(await semaphore.acquiredPermits()).toBe(6);
      expect(await semaphore.permits()).toBe(permits);
    }
    expect(await semaphore.tryAcquire()).toBeNull();
    await lease.release();
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('testAddPermits: so many more, or fewer', async () => {
    const semaphore = await semaphoreOf(10);
    await semaphore.addPermits(5);
    expect(await semaphore.availablePermits()).toBe(15);
    await semaphore.addPermits(-10);
    expect(await semaphore.availablePermits()).toBe(5);
    const lease = await semaphore.acquire({ permits: 5 });
    await semaphore.addPermits(-3);
    expect(await semaphore.availablePermits()).toBe(-3);
    await lease.release();
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('testBlockingAcquire, testBlockingAcquireMany: ids have 32 hexadecimal digits', async () => {
    const semaphore = await semaphoreOf(3);
    const first = await semaphore.acquire({ permits: 3 });
    const waiting = semaphore.acquire({ permits: 2 });
    await first.release();
    const lease = await waiting;
    expect(new Set([...first.permitIds, ...lease.permitIds]).size).toBe(5);
    for (const id of lease.permitIds) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it('testTryAcquire, testTryAcquireMany: null when there are too few, after the wait', async () => {
    const semaphore = await semaphoreOf(5);
    expect((await semaphore.tryAcquire({ permits: 4 }))?.permitIds).toHaveLength(4);
    const stopwatch = new Stopwatch();
    expect(await semaphore.tryAcquire({ permits: 2, waitTimeMs: 400 })).toBeNull();
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it('testReleaseWithoutPermits: rejects', async () => {
    const semaphore = open().locks.get('test');
    await expect(semaphore.release(UNKNOWN)).rejects.toMatchObject({ code: 'LOCK_STATE' });
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('testReleaseExpired: false, and the permit is free all the same', async () => {
    const semaphore = await semaphoreOf(1);
    const lease = await semaphore.acquire({ leaseTimeMs: 30 });
    await eventually(async () => (await semaphore.availablePermits()) === 1);
    expect(await semaphore.tryRelease(anId(lease))).toBe(false);
    expect(await semaphore.availablePermits()).toBe(1);
    expect(await semaphore.tryAcquire()).not.toBeNull();
  });

  it.each([1, 10])('testConcurrency: 40 callers of 8 clients, %d permits', async (permits) => {
    const semaphore = await semaphoreOf(permits);
    const others = Array.from({ length: 8 }, () => open().locks.get('test'));
    const inside = { now: 0, most: 0, entries: 0 };
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        (others[i % others.length] as Semaphore).using(async () => {
          inside.now += 1;
          inside.entries += 1;
          inside.most = Math.max(inside.most, inside.now);
          await redis.admin.ping();
          inside.now -= 1;
        }),
      ),
    );
    expect(inside.entries).toBe(40);
    expect(inside.most).toBeLessThanOrEqual(permits);
    expect(await semaphore.availablePermits()).toBe(permits);
  });

  it('testAcquire, testAcquireAsyncMany: at once when there are enough', async () => {
    const semaphore = await semaphoreOf(5);
    const stopwatch = new Stopwatch();
    await semaphore.acquire({ permits: 4 });
    expect(stopwatch.ms).toBeLessThan(5 * 100);
  });

  it('testRelease, testReleaseAsyncMany: by ids', async () => {
    const semaphore = await semaphoreOf(5);
    const lease = await semaphore.acquire({ permits: 4 });
    await semaphore.release(lease.permitIds);
    expect(await semaphore.availablePermits()).toBe(5);
    await expect(semaphore.release(lease.permitIds)).rejects.toMatchObject({ code: 'LOCK_STATE' });
  });

  it('testReleaseManyExpiredDoesNotThrow, testTryReleaseManyExpired: false for a batch that expired', async () => {
    const semaphore = await semaphoreOf(5);
    const lease = await semaphore.acquire({ permits: 3, leaseTimeMs: 30 });
    await eventually(async () => (await semaphore.availablePermits()) === 5);
    expect(await semaphore.tryRelease(lease.permitIds)).toBe(false);
    expect(await semaphore.availablePermits()).toBe(5);
  });

  it('testReleaseManyNotExistOrExpired: a batch with a bad id rejects and releases nothing', async () => {
    const semaphore = await semaphoreOf(5);
    const { permitIds } = await semaphore.acquire({ permits: 3 });
    const expired = await semaphore.acquire({ leaseTimeMs: 30 });
    await eventually(async () => (await semaphore.acquiredPermits()) === 3);
    for (const bad of [UNKNOWN, anId(expired)]) {
      const release = semaphore.release([...permitIds, bad]);
      await expect(release).rejects.toMatchObject({ code: 'LOCK_STATE', lockName: 'test' });
      expect(await semaphore.acquiredPermits()).toBe(3);
    }
  });

  it('testGetLeaseTime: what is left of it', async () => {
    const semaphore = await semaphoreOf(1);
    expect(await semaphore.remainingTimeMs(UNKNOWN)).toBe(0);
    const left = await semaphore.remainingTimeMs(
      anId(await semaphore.acquire({ leaseTimeMs: 9_000 })),
    );
    expect(left).toBeGreaterThan(8_000);
    expect(left).toBeLessThanOrEqual(9_000);
  });

  it('testConcurrencyMultiPermits, testConcurrencyMultiPermits2: large and small ones get in in time', async () => {
    const semaphore = await semaphoreOf(4);
    const others = [semaphore, open().locks.get('test'), open().locks.get('test')];
    const used = { now: 0, most: 0 };
    await Promise.all(
      Array.from({ length: 45 }, (_, i) => {
        const permits = [1, 4, 2][i % 3] ?? 1;
        const work = async () => {
          used.now += permits;
          used.most = Math.max(used.most, used.now);
          await redis.admin.ping();
          used.now -= permits;
        };
        return (others[i % 2] as Semaphore).using(work, { permits, waitTimeMs: 10_000 });
      }),
    );
    expect(used.most).toBe(4);
    expect(await semaphore.availablePermits()).toBe(4);
  });
});
