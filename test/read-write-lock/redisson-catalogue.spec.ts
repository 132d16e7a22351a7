import { describe, expect, it } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock/core';
import { eventually, PROMPT_MS, roundTrips, Section, useRealRedis } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';
import { useReadWriteLocks } from './sides.js';

/** Redisson's own tests of RReadWriteLock, behaviour by behaviour, with shorter leases. */
describe('what Redisson tests of a read-write lock', () => {
  const redis = useRealRedis();
  const { open } = useReadWriteLocks(redis);
  const lockOf = (settings = {}) => open(settings).locks.get('a');

  it('testReadLockLeaseTimeoutDiffThreadsRRW: a writer enters when the lease of the remaining reader ends', async () => {
    const stopwatch = new Stopwatch();
    await lockOf().read.acquire({ leaseTimeMs: 400 });
    const longer = await lockOf().read.acquire({ leaseTimeMs: 60_000 });
    const writing = lockOf().write.acquire();
    await longer.release();
    await writing;
    expect(stopwatch.realMs).toBeGreaterThan(380);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
  });

  it('testReadLockLeaseTimeout: every reader has a lease of its own', async () => {
    const { read } = lockOf();
    const [short, long] = [
      await read.acquire({ leaseTimeMs: 100 }),
      await read.acquire({ leaseTimeMs: 10_000 }),
    ];
    await eventually(() => short.state === 'lost');
    long.assertHeld();
    expect(await lockOf().write.tryAcquire()).toBeNull();
    await long.release();
    await (await lockOf().write.acquire({ waitTimeMs: 0 })).release();
  });

  it('testMultiRead, testWriteLock: who keeps out whom', async () => {
    const [ours, others] = [lockOf(), lockOf()];
    const tries = async () => [
      (await release(await ours.read.tryAcquire())) !== null,
      (await release(await others.read.tryAcquire())) !== null,
      (await release(await ours.write.tryAcquire())) !== null,
      (await release(await others.write.tryAcquire())) !== null,
    ];
    expect(await tries()).toEqual([true, true, true, true]);
    await ours.read.using(tries).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'LOCK_STATE' });
    });
    const reading = await ours.read.acquire();
    expect(await tries()).toEqual([true, true, false, false]);
    await reading.release();
    const writing = await ours.write.acquire();
    expect(await tries()).toEqual([false, false, false, false]);
    await writing.release();
  });

  it('testForceUnlock: each side takes away its own holds, and nothing else', async () => {
    const { read, write } = lockOf();
    const reading = await read.acquire();
    expect(await write.forceRelease()).toBe(false);
    expect(await read.forceRelease()).toBe(true);
    await expect(reading.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const work = write.using(async () => {
      const inner = await read.acquire();
      expect(await write.forceRelease()).toBe(true);
      // The read goes on without the write.
      inner.assertHeld();
      await inner.renew();
      expect(await lockOf().write.tryAcquire()).toBeNull();
      await inner.release();
    });
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('testConcurrency: readers overlap, and no writer is ever inside with another owner', async () => {
    const clients = [open(), open(), open()];
    const [reads, writes] = [new Section(), new Section()];
    let readers = 0;
    let writers = 0;
    let clashes = 0;
    const callers = clients.flatMap(({ locks }) =>
      Array.from({ length: 10 }, async (_, i) => {
        const { read, write } = locks.get('a');
        for (let round = 0; round < 4; round += 1) {
          if (i % 3 === 0) {
            await write.using(() =>
              writes.run(async () => {
                writers += 1;
                if (readers > 0 || writers > 1) clashes += 1;
                await roundTrips(redis, 1);
                writers -= 1;
              }),
            );
          } else {
            await read.using(() =>
              reads.run(async () => {
                readers += 1;
                if (writers > 0) clashes += 1;
                await roundTrips(redis, 1);
                readers -= 1;
              }),
            );
          }
        }
      }),
    );
    await Promise.all(callers);
    expect(clashes).toBe(0);
    expect(writes).toMatchObject({ entries: 48, most: 1 });
    expect(reads.entries).toBe(72);
    expect(reads.most).toBeGreaterThan(1);
  });

  it.each(['read', 'write'] as const)(
    'testReadLockAfterTimeout, testWriteLockAfterTimeout: after a restart the release of a %s rejects, and a new hold is renewed',
    async (side) => {
      const client = open({ watchdogLeaseMs: 3_000 });
      const lock = client.locks.get('a')[side];
      const lease = await lock.acquire();
      await redis.restart();
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      const next = await lock.acquire();
      const renewals = client.eventsOf('renewed').length;
      await eventually(() => client.eventsOf('renewed').length >= renewals + 4);
      next.assertHeld();
      await next.release();
    },
  );
});

async function release(lease: Lease | null): Promise<Lease | null> {
  await lease?.release();
  return lease;
}
