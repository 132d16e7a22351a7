import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, type Lease } from 'nestjs-redis-lock/core';
import {
  eventually,
  FOREIGN_OWNER,
  PROMPT_MS,
  roundTrips,
  useRedis,
  watch,
} from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';
import { javaReader } from '../support/redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

const MARK = 'nestjs_rwlock_writers:{a}';
const PATIENCE = 'nestjs_rwlock_patience:{a}';
const READERS = 'nestjs_rwlock_readers:{a}';
const TURN = 'nestjs_rwlock_turn:{a}';
const FOR_LONG = { waitTimeMs: 60_000 };

describe('who goes first at a read-write lock', () => {
  const redis = useRedis();
  const { open } = useReadWriteLocks(redis);
  const lockOf = (settings = {}) => open(settings).locks.get('a');

  const isMarked = () => eventually(async () => (await redis.admin.exists(MARK)) === 1);
  const areWaiting = (readers: number) =>
    eventually(async () => (await redis.admin.zcard(READERS)) === readers);
  const helperKeys = () => redis.admin.keys('nestjs_*');
  /** Notes the name of each waiter when its lease is granted. */
  const entering = (order: string[], name: string, granted: Promise<Lease>) =>
    granted.then((lease) => {
      order.push(name);
      return lease;
    });

  describe('a writer that waits', () => {
    it('makes new readers wait, in every process, and lets them in when it has written', async () => {
      const [ours, others, third] = [lockOf(), lockOf(), lockOf()];
      const order: string[] = [];
      const reading = await ours.read.acquire();
      const writing = entering(order, 'writer', others.write.acquire(FOR_LONG));
      await isMarked();
      const readers = [ours, others, third].map(({ read }) =>
        entering(order, 'reader', read.acquire(FOR_LONG)),
      );
      await areWaiting(3);
      expect(order).toEqual([]);
      await reading.release();
      const written = await writing;
      await roundTrips(redis, 3);
      expect(order).toEqual(['writer']);
      await written.release();
      for (const lease of await Promise.all(readers)) await lease.release();
      expect(await helperKeys()).toEqual([]);
    });

    it('is not starved by readers that come again and again', async () => {
      const readers = [open(), open(), open()];
      let isDone = false;
      let reads = 0;
      const crowd = readers.flatMap(({ locks }) =>
        Array.from({ length: 4 }, async () => {
          while (!isDone) {
            await locks.get('a').read.using(() => roundTrips(redis, 1), FOR_LONG);
            reads += 1;
          }
        }),
      );
      const { write } = lockOf();
      for (let round = 0; round < 5; round += 1) {
        const before = reads;
        await eventually(() => reads > before + 20);
        await write.using(() => undefined);
      }
      isDone = true;
      await Promise.all(crowd);
    });

    it('does not keep out readers that read already, nor the reads of a writer', async () => {
      const { read, write } = lockOf();
      const writing: Promise<Lease>[] = [];
      await read.using(async () => {
        writing.push(lockOf().write.acquire(FOR_LONG));
        await isMarked();
        await read.using((lease) => {
          expect(lease.holdCount).toBe(2);
        });
      });
      await (await writing[0])?.release();
      await write.using(async () => {
        writing.push(lockOf().write.acquire(FOR_LONG));
        await isMarked();
        await read.using((lease) => {
          expect(lease.holdCount).toBe(1);
        });
      });
      await (await writing[1])?.release();
      await eventually(async () => (await redis.admin.exists('a', MARK)) === 0);
    });

    it('is remembered for three of its polls, and no longer', async () => {
      const waiter = open({ pollIntervalMs: 200 });
      const reading = await lockOf().read.acquire();
      const writing = watch(waiter.locks.get('a').write.acquire(FOR_LONG));
      await isMarked();
      expect(await redis.admin.pttl(MARK)).toBeLessThanOrEqual(600);
      const [, score] = await redis.admin.zrange(MARK, '0', '-1', 'WITHSCORES');
      // It asks again long before it would be forgotten.
      await eventually(
        async () => (await redis.admin.zrange(MARK, '0', '-1', 'WITHSCORES'))[1] !== score,
      );
      await waiter.close();
      await expect(writing.promise).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
      expect(await helperKeys()).toEqual([]);
      await reading.release();
    });

    it('that crashed lets readers in when it is forgotten', async () => {
      const reading = await lockOf().read.acquire();
      await redis.admin.zadd(MARK, Date.now() + 400, 'a-dead-writer:1');
      await redis.admin.pexpire(MARK, 60_000);
      await redis.admin.set(PATIENCE, 1, 'PX', 5_000);
      const { read } = lockOf({ pollIntervalMs: 50 });
      expect(await read.tryAcquire()).toBeNull();
      const stopwatch = new Stopwatch();
      await (await read.acquire()).release();
      expect(stopwatch.ms).toBeLessThan(5 * 400);
      await reading.release();
      await redis.admin.del(PATIENCE);
    });

    it('that crashed keeps each reader out for 5 s at most after the clock was set back', async () => {
      const SET_BACK_MS = 600_000;
      await redis.admin.zadd(MARK, Date.now() + SET_BACK_MS, 'a-dead-writer:1');
      await redis.admin.pexpire(MARK, SET_BACK_MS);
      await redis.admin.set(PATIENCE, 1, 'PX', SET_BACK_MS);
      const { read } = lockOf();
      const stopwatch = new Stopwatch();
      await (await read.acquire(FOR_LONG)).release();
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      // From now on the writers' turn is that of the clock.
      expect(await redis.admin.pttl(PATIENCE)).toBeLessThanOrEqual(5_000);
      await redis.admin.del(MARK, PATIENCE);
    });

    it.each(['gives up', 'is aborted', 'closes'])(
      'that %s takes its mark away, and the readers go on at once',
      async (how) => {
        const reading = await lockOf().read.acquire();
        const abort = new AbortController();
        const waiter = open();
        const waitTimeMs = how === 'gives up' ? 300 : 60_000;
        const { write } = waiter.locks.get('a');
        const writing = watch(write.acquire({ waitTimeMs, signal: abort.signal }));
        await isMarked();
        const readers = [1, 2, 3].map(() =>
          watch(lockOf({ pollIntervalMs: 60_000 }).read.acquire(FOR_LONG)),
        );
        await areWaiting(3);
        if (how === 'is aborted') abort.abort(new Error('no time'));
        if (how === 'closes') await waiter.close();
        await expect(writing.promise).rejects.toThrow(Error);
        const stopwatch = new Stopwatch();
        for (const { promise } of readers) await (await promise).release();
        expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
        expect(await helperKeys()).toEqual([]);
        await reading.release();
      },
    );

    it('that gives up leaves the mark of another one', async () => {
      const reading = await lockOf().read.acquire();
      const staying = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      const leaving = lockOf().write.acquire({ waitTimeMs: 300 });
      await expect(leaving).rejects.toThrow(LockTimeoutError);
      await eventually(async () => (await redis.admin.zcard(MARK)) === 1);
      expect(await lockOf().read.tryAcquire()).toBeNull();
      await reading.release();
      await (await staying).release();
    });
  });

  describe('a try', () => {
    it('to write leaves no mark', async () => {
      const reading = await lockOf().read.acquire();
      expect(await lockOf().write.tryAcquire()).toBeNull();
      expect(await helperKeys()).toEqual([]);
      await (await lockOf().read.acquire({ waitTimeMs: 0 })).release();
      await reading.release();
    });

    it('to read is refused while a writer waits, and is not remembered', async () => {
      const reading = await lockOf().read.acquire();
      const writing = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      expect(await lockOf().read.tryAcquire()).toBeNull();
      expect(await redis.admin.exists(READERS)).toBe(0);
      await reading.release();
      await (await writing).release();
    });
  });

  describe('readers that wait when a write hold ends', () => {
    it('enter before the next writer, all of them', async () => {
      const order: string[] = [];
      const [first, second] = [lockOf(), lockOf()];
      const written = await first.write.acquire();
      const writers = [first, second].map(({ write }) =>
        entering(order, 'writer', write.acquire(FOR_LONG)),
      );
      await isMarked();
      const readers = [lockOf(), lockOf(), lockOf()].map(({ read }) =>
        entering(order, 'reader', read.acquire(FOR_LONG)),
      );
      await areWaiting(3);
      await written.release();
      const leases = await Promise.all(readers);
      await roundTrips(redis, 5);
      expect(order).toEqual(['reader', 'reader', 'reader']);
      for (const lease of leases) await lease.release();
      await Promise.all(writers.map(async (writing) => (await writing).release()));
    });

    it('enter first also when the writer has crashed', async () => {
      const order: string[] = [];
      await redis.admin.hset('a', { mode: 'write', [`${FOREIGN_OWNER}:write`]: 1 });
      await redis.admin.pexpire('a', 400);
      const writing = entering(order, 'writer', lockOf().write.acquire(FOR_LONG));
      await isMarked();
      const readers = [lockOf(), lockOf()].map(({ read }) =>
        entering(order, 'reader', read.acquire(FOR_LONG)),
      );
      await areWaiting(2);
      for (const lease of await Promise.all(readers)) await lease.release();
      await (await writing).release();
      expect(order).toEqual(['reader', 'reader', 'writer']);
    });

    it('have their turn once: who comes later waits behind the writers', async () => {
      const written = await lockOf().write.acquire();
      const writing = watch(lockOf().write.acquire(FOR_LONG));
      await isMarked();
      const reading = lockOf().read.acquire(FOR_LONG);
      await areWaiting(1);
      await written.release();
      const lease = await reading;
      expect(await redis.admin.exists(TURN)).toBe(0);
      expect(await lockOf().read.tryAcquire()).toBeNull();
      await lease.release();
      await (await writing.promise).release();
    });

    it('keep a writer waiting that asks for the first time', async () => {
      const written = await lockOf().write.acquire();
      await redis.admin.zadd(READERS, Date.now() + 60_000, 'slow:1');
      await redis.admin.pexpire(READERS, 60_000);
      await written.release();
      expect(await redis.admin.zrange(TURN, '0', '-1')).toEqual(['slow:1']);
      expect(await redis.admin.pttl(TURN)).toBeLessThanOrEqual(1_000);
      expect(await lockOf().write.tryAcquire()).toBeNull();
      // One that has crashed costs a second at most.
      const stopwatch = new Stopwatch();
      await (await lockOf().write.acquire()).release();
      expect(stopwatch.ms).toBeLessThan(5 * 1_000);
    });

    it('and crashed keep no writer out once the clock was set back', async () => {
      await redis.admin.zadd(TURN, Date.now(), 'slow:1');
      await redis.admin.pexpire(TURN, 600_000);
      const stopwatch = new Stopwatch();
      await (await lockOf().write.acquire(FOR_LONG)).release();
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      await redis.admin.del(TURN);
    });

    it('and then leave let the next writer in at once', async () => {
      const written = await lockOf().write.acquire();
      const abort = new AbortController();
      const { read } = lockOf({ pollIntervalMs: 60_000 });
      await redis.resetCommandStats();
      const reading = watch(read.acquire({ ...FOR_LONG, signal: abort.signal }));
      // At first, and once more when it listens.
      await eventually(async () => ((await redis.commandStats()).evalsha ?? 0) >= 2);
      // The reader gets no message of its turn, since it is about to leave.
      await redis.admin.rename(READERS, TURN);
      await redis.admin.pexpire(TURN, 1_000);
      await redis.admin.del('a');
      const writing = lockOf({ pollIntervalMs: 60_000 }).write.acquire(FOR_LONG);
      await isMarked();
      abort.abort(new Error('no time'));
      const stopwatch = new Stopwatch();
      await expect(reading.promise).rejects.toThrow('no time');
      await (await writing).release();
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      await expect(written.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    });

    it('enter also when the writer goes on reading', async () => {
      const { read, write } = lockOf();
      const [reading, late, writing] = await write.using(async () => {
        const own = await read.acquire();
        const behind = lockOf().write.acquire(FOR_LONG);
        await isMarked();
        const waiting = lockOf({ pollIntervalMs: 60_000 }).read.acquire(FOR_LONG);
        await areWaiting(1);
        return [own, waiting, behind] as const;
      });
      const stopwatch = new Stopwatch();
      await (await late).release();
      expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
      await reading.release();
      await (await writing).release();
    });
  });

  describe('a mark that stood for five seconds', () => {
    /** As if so much time had passed. */
    const passPatience = () => redis.admin.del(PATIENCE);

    it('is measured by the server from the first writer on, and asks for no more', async () => {
      const reading = await lockOf().read.acquire();
      const first = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      const pttl = await redis.admin.pttl(PATIENCE);
      expect(pttl).toBeGreaterThan(4_000);
      expect(pttl).toBeLessThanOrEqual(5_000);
      await redis.admin.pexpire(PATIENCE, 3_000);
      const second = lockOf().write.acquire(FOR_LONG);
      await eventually(async () => (await redis.admin.zcard(MARK)) === 2);
      expect(await redis.admin.pttl(PATIENCE)).toBeLessThanOrEqual(3_000);
      await reading.release();
      await Promise.all([first, second].map(async (writing) => (await writing).release()));
    });

    it('lets the readers that wait in, all of them, once; then its time begins anew', async () => {
      const reading = await lockOf().read.acquire();
      const writing = watch(lockOf().write.acquire(FOR_LONG));
      await isMarked();
      const readers = [60_000, 60_000, 50].map((pollIntervalMs) =>
        lockOf({ pollIntervalMs }).read.acquire(FOR_LONG),
      );
      await areWaiting(3);
      await passPatience();
      // The first reader to notice wakes the others.
      const leases = await Promise.all(readers);
      expect(writing.state).toBe('pending');
      expect(await redis.admin.pttl(PATIENCE)).toBeGreaterThan(3_000);
      expect(await lockOf().read.tryAcquire()).toBeNull();
      for (const lease of [reading, ...leases]) await lease.release();
      await (await writing.promise).release();
    });

    it('is noticed by the readers themselves when the time comes', async () => {
      const reading = await lockOf().read.acquire();
      const writing = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      await redis.admin.pexpire(PATIENCE, 400);
      const stopwatch = new Stopwatch();
      const late = await lockOf({ pollIntervalMs: 60_000 }).read.acquire(FOR_LONG);
      expect(stopwatch.realMs).toBeGreaterThan(300);
      expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
      for (const lease of [reading, late]) await lease.release();
      await (await writing).release();
    });

    it('does not help a try, but those who wait', async () => {
      const reading = await lockOf().read.acquire();
      const writing = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      const waiting = lockOf({ pollIntervalMs: 60_000 }).read.acquire(FOR_LONG);
      await areWaiting(1);
      await passPatience();
      expect(await lockOf().read.tryAcquire()).toBeNull();
      const late = await waiting;
      for (const lease of [reading, late]) await lease.release();
      await (await writing).release();
    });
  });

  describe('with Java', () => {
    it('no reader of Java sees the mark: it enters past a Node writer that waits', async () => {
      const reading = await lockOf().read.acquire();
      const writing = lockOf().write.acquire(FOR_LONG);
      await isMarked();
      expect(await javaReader.tryLock(redis.admin, 'a')).toBe(true);
      await reading.release();
      await javaReader.unlock(redis.admin, 'a');
      await (await writing).release();
    });
  });
});
