import { describe, expect, it } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock';
import { PROMPT_MS, roundTrips, Section, watch } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';
import { JavaThread, THREAD_1, timeoutKey } from './redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

/** Redisson's own tests of RReadWriteLock, behaviour by behaviour, with shorter leases. */
describe('what Redisson tests of a read-write lock', () => {
  const redis = useRedis();
  const { open } = useReadWriteLocks(redis);
  const lockOf = (settings = {}) => open(settings).locks.get('a');

  it('testReadLockExpiration: a writer waits for the longest lease of the readers', async () => {
    const { read } = lockOf();
    const stopwatch = new Stopwatch();
    await read.acquire({ leaseTimeMs: 400 });
    await read.acquire({ leaseTimeMs: 100 });
    const lease = await lockOf().write.acquire();
    expect(stopwatch.realMs).toBeGreaterThan(380);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
    lease.assertHeld();
  });

  it('testReadLockIsLocked: the read side is locked under a writer once the writer reads', async () => {
    const { read, write } = lockOf();
    await write.using(async () => {
      expect(await read.isLocked()).toBe(false);
      expect(await read.remainingTimeMs()).toBe(0);
      await read.using(async () => {
        expect(await read.isLocked()).toBe(true);
        expect(await write.isLocked()).toBe(true);
      });
      expect(await read.isLocked()).toBe(false);
    });
  });

  it('testReadLockExpirationRenewal: 50 readers outlast their lease and leave cleanly', async () => {
    const client = open({ leaseTimeMs: 900 });
    const { read, write } = client.locks.get('a');
    const leases = await Promise.all(Array.from({ length: 50 }, () => read.acquire()));
    const stopwatch = new Stopwatch();
    await eventually(() => stopwatch.realMs > 1_100);
    expect(await write.tryAcquire()).toBeNull();
    await Promise.all(leases.map((lease) => lease.release()));
    expect(client.eventsOf('lost')).toEqual([]);
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('testWriteLockExpiration: a nested call with a short lease does not shorten the hold', async () => {
    const { write } = lockOf();
    await write.using(
      async (lease) => {
        await write.acquire({ leaseTimeMs: 50 });
        const stopwatch = new Stopwatch();
        await eventually(() => stopwatch.realMs > 100);
        expect(await lockOf().write.tryAcquire()).toBeNull();
        lease.assertHeld();
      },
      { leaseTimeMs: 10_000 },
    );
    await lockOf().write.forceRelease();
  });

  it('testReadLockLeaseTimeoutDiffThreadsWRR: two readers enter when the lease of a writer ends', async () => {
    await lockOf().write.acquire({ leaseTimeMs: 300 });
    const stopwatch = new Stopwatch();
    await Promise.all([lockOf().read.acquire(), lockOf().read.acquire()]);
    expect(stopwatch.ms).toBeLessThan(300 + PROMPT_MS);
  });

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

  it('testWR: the end of a read inside a write keeps the write lock', async () => {
    const { read, write } = lockOf();
    await write.using(async (lease) => {
      await read.using(() => undefined);
      expect(await lockOf().write.tryAcquire()).toBeNull();
      expect(await lockOf().read.tryAcquire()).toBeNull();
      lease.assertHeld();
    });
  });

  it('testWriteRead: 20 readers that wait enter together when the writer leaves', async () => {
    const written = await lockOf().write.acquire();
    const [ours, others] = [lockOf(), lockOf()];
    let inside = 0;
    const readers = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? ours : others).read.using(async () => {
        inside += 1;
        await eventually(() => inside === 20);
      }),
    );
    await eventually(async () => (await redis.admin.zcard('nestjs_rwlock_readers:{a}')) === 20);
    const stopwatch = new Stopwatch();
    await written.release();
    await Promise.all(readers);
    expect(stopwatch.ms).toBeLessThan(1_000 + PROMPT_MS);
  });

  it('testWriteReadReentrancy: the read that outlives its write keeps writers out, and lets readers in', async () => {
    const { read, write } = lockOf();
    const writing = watch(
      write
        .using(async () => {
          const reading = await read.acquire();
          const other = lockOf().write.acquire();
          await eventually(async () => (await redis.admin.keys('nestjs_*')).length > 0);
          return [reading, other] as const;
        })
        .then(async ([reading, other]) => {
          const blocked = watch(other);
          await roundTrips(redis, 5);
          expect(blocked.state).toBe('pending');
          reading.assertHeld();
          await reading.release();
          return other;
        }),
    );
    await (await writing.promise).release();
  });

  it('testMultiRead, testWriteLock: who keeps out whom', async () => {
    const [ours, others] = [lockOf(), lockOf()];
    const tries = async () => [
      (await giveBack(await ours.read.tryAcquire())) !== null,
      (await giveBack(await others.read.tryAcquire())) !== null,
      (await giveBack(await ours.write.tryAcquire())) !== null,
      (await giveBack(await others.write.tryAcquire())) !== null,
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

  it('testReadWriteTTL: both are renewed while both are held, and the read goes on alone', async () => {
    const client = open({ leaseTimeMs: 900 });
    const { read, write } = client.locks.get('a');
    const least = async () => {
      const seen: number[] = [];
      const stopwatch = new Stopwatch();
      while (stopwatch.realMs < 1_000) seen.push(await redis.admin.pttl('a'));
      return Math.min(...seen);
    };
    const reading = await write.using(async () => {
      const lease = await read.acquire();
      expect(await least()).toBeGreaterThan(0);
      return lease;
    });
    expect(await least()).toBeGreaterThan(0);
    reading.assertHeld();
    await reading.release();
  });

  it.each(['read', 'write'] as const)(
    'testExpire, testAutoExpire: the lease of a silent %s hold ends, and its late release says so',
    async (side) => {
      const lease = await lockOf()[side].acquire({ leaseTimeMs: 200 });
      const stopwatch = new Stopwatch();
      await (await lockOf().write.acquire()).release();
      expect(stopwatch.ms).toBeLessThan(200 + PROMPT_MS);
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    },
  );

  it.each(['read', 'write'] as const)(
    'testHoldCount, testReentrancy: nested %s calls are counted, and given back one by one',
    async (side) => {
      const lock = lockOf()[side];
      const seen: string[] = [];
      const field = (lease: Lease) => (side === 'read' ? lease.owner : `${lease.owner}:write`);
      const look = async (lease: Lease) =>
        seen.push(String(await redis.admin.hget('a', field(lease))));
      await lock.using(async (outer) => {
        await look(outer);
        await lock.using(look);
        await look(outer);
      });
      expect(seen).toEqual(['1', '2', '1']);
      expect(await redis.admin.keys('*')).toEqual([]);
    },
  );

  it('testConcurrency: readers overlap, and no writer is ever inside with anybody', async () => {
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
      const client = open({ leaseTimeMs: 1_200 });
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

  it('testMultiInstanceReadLockZombieCleanup: a crashed reader does not block a writer when another went on reading', async () => {
    const zombie = new JavaThread(redis.admin);
    await zombie.tryRead('a', 300);
    const client = open({ leaseTimeMs: 900 });
    const reading = await client.locks.get('a').read.acquire();
    await eventually(async () => (await redis.admin.exists(timeoutKey('a', THREAD_1, 1))) === 0);
    await eventually(() => client.eventsOf('renewed').length >= 2);
    // The lock has been kept alive; the zombie is still in the hash.
    expect(await redis.admin.hexists('a', THREAD_1)).toBe(1);
    const writing = lockOf().write.acquire();
    await reading.release();
    const stopwatch = new Stopwatch();
    await (await writing).release();
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });
});

async function giveBack(lease: Lease | null): Promise<Lease | null> {
  await lease?.release();
  return lease;
}
