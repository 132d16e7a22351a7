import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock/core';
import type { HeldLease } from '../../libs/redis-lock/src/core/holding/held-lease.js';
import { nodesChannel } from '../../libs/redis-lock/src/core/redis/key-names.js';
import { runInScope } from '../../libs/redis-lock/src/core/holding/scope.js';
import { describeHandOff } from '../contract/hand-off.contract.js';
import { HANDED_WRITE_LOCK } from '../contract/handed.js';
import { describeLostGrants } from '../contract/lost-grants.contract.js';
import { untilQueued, type LockClientOptions } from '../support/lock-client.js';
import {
  eventually,
  PROMPT_MS,
  roundTrips,
  Section,
  useRealRedis,
  watch,
} from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';
import { channelOf, javaReader } from '../support/redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

const MARK = 'nestjs_rwlock_writers:{a}';
const READERS = 'nestjs_rwlock_readers:{a}';
const PATIENT = { waitTimeMs: 60_000 };
/** So long that no spec can pass by it. */
const NO_POLL = { pollIntervalMs: 60_000 };
/** How often a process may hand a lock on to its own callers while others wait. */
const TURN = 8;

const redis = useRealRedis();
const { open, openWrite } = useReadWriteLocks(redis);

const suite = { redis, open: openWrite, handed: HANDED_WRITE_LOCK };
describeHandOff('the write side of a read-write lock', suite);
describeLostGrants('the write side of a read-write lock', suite);

describe('a write lock that is handed on, and readers, which go first', () => {
  const opened = (settings: LockClientOptions = {}) => open({ ...NO_POLL, ...settings });
  const lockOf = (settings: LockClientOptions = {}) => opened(settings).locks.get('a');
  const inQueue = (...clients: ReturnType<typeof open>[]) =>
    untilQueued(redis, 'a', clients, 'rwlock');
  const areWaiting = (readers: number) =>
    eventually(async () => (await redis.admin.zcard(READERS)) === readers);
  const marks = () => redis.admin.zcard(MARK);

  it.each(['auto', 'none', 'redisson'] as const)(
    'of another process before the next writer of its own, with interop: %p',
    async (interop) => {
      const [{ write }, reader] = [lockOf({ interop }), lockOf({ interop })];
      const order: string[] = [];
      const written = await write.acquire();
      const writers = ['first', 'second', 'third'].map((name) =>
        write.using(() => order.push(name), PATIENT),
      );
      const readers = [1, 2].map(() => reader.read.acquire(PATIENT));
      await areWaiting(2);
      await written.release();
      const leases = await Promise.all(readers);
      await roundTrips(redis, 5);
      expect(order).toEqual([]);
      for (const lease of leases) await lease.release();
      await Promise.all(writers);
      expect(order).toEqual(['first', 'second', 'third']);
    },
  );

  it('are of no outsider when one of them waits no more, and a writer of its process does', async () => {
    const [holder, waiter] = [opened().locks, opened().locks];
    const held = [await holder.get('a').write.acquire(), await holder.get('b').write.acquire()];
    const writing = waiter.get('a').write.acquire(PATIENT);
    const abort = new AbortController();
    const reading = ['a', 'b'].map((name) =>
      expect(waiter.get(name).read.acquire({ ...PATIENT, signal: abort.signal })).rejects.toThrow(
        'enough',
      ),
    );
    const [ofA, ofB] = [channelOf('a'), channelOf('b')];
    for (const one of [ofA, nodesChannel(ofA), ofB]) await redis.listening(one);
    abort.abort(new Error('enough'));
    await Promise.all(reading);
    // The client leaves the channels that it no longer needs together.
    await redis.listening(ofB, 0);
    expect(await redis.admin.pubsub('NUMSUB', ofA, nodesChannel(ofA))).toEqual([
      ...[ofA, 1],
      ...[nodesChannel(ofA), 1],
    ]);
    for (const lease of held) await lease.release();
    await (await writing).release();
  });

  it('before the process that has waited longest', async () => {
    const [holder, waiter] = [opened(), opened()];
    const written = await holder.locks.get('a').write.acquire();
    const waiting = watch(waiter.locks.get('a').write.acquire(PATIENT));
    await inQueue(waiter);
    const reading = lockOf().read.acquire(PATIENT);
    await areWaiting(1);
    await written.release();
    const lease = await reading;
    await roundTrips(redis, 5);
    expect(waiting.state).toBe('pending');
    expect(await lockOf().read.tryAcquire()).toBeNull();
    await lease.release();
    await (await waiting.promise).release();
  });

  it.each([
    [1, 10],
    [2, 25],
  ])(
    'behind the one that writes, however many writers keep asking (%d processes, %d callers each)',
    async (processes, callers) => {
      const clients = Array.from({ length: processes }, () => opened());
      const section = new Section();
      let isOn = true;
      let readers = 0;
      const writers = clients.flatMap(({ locks }) =>
        Array.from({ length: callers }, async () => {
          const work = async () => {
            expect(readers).toBe(0);
            await roundTrips(redis, 1);
          };
          while (isOn) await locks.get('a').write.using(() => section.run(work), PATIENT);
        }),
      );
      const { read } = lockOf();
      for (let round = 0; round < 10; round += 1) {
        const before = section.entries;
        await eventually(() => section.entries > before + TURN);
        const asked = section.entries;
        await read.using(async () => {
          readers += 1;
          expect(section.entries - asked).toBeLessThan(TURN);
          await roundTrips(redis, 1);
          readers -= 1;
        }, PATIENT);
      }
      isOn = false;
      await Promise.all(writers);
      expect(section.most).toBe(1);
    },
  );

  it('and the writer itself, which goes on reading', async () => {
    const [holder, waiter] = [opened(), opened()];
    const { read, write } = holder.locks.get('a');
    const order: string[] = [];
    const written = await write.acquire();
    const reading = await runInScope(written as HeldLease, () => read.acquire());
    const writers = [
      write.using(() => order.push('ours'), PATIENT),
      waiter.locks.get('a').write.using(() => order.push('theirs'), PATIENT),
    ];
    await inQueue(waiter);
    await written.release();
    await roundTrips(redis, 5);
    expect(order).toEqual([]);
    expect(await redis.admin.hgetall('a')).toEqual({ mode: 'read', [reading.owner]: '1' });
    await reading.release();
    await Promise.all(writers);
    expect(order.sort()).toEqual(['ours', 'theirs']);
  });

  it('and not as soon as their time to wait is over', async () => {
    const { write } = lockOf();
    const written = await write.acquire();
    await redis.admin.zadd(READERS, Date.now() - 1, 'gone:1');
    await redis.admin.pexpire(READERS, 60_000);
    const waiting = write.acquire(PATIENT);
    const stopwatch = new Stopwatch();
    await written.release();
    await (await waiting).release();
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('and after them one script for each section again', async () => {
    const { write } = lockOf();
    const { read } = lockOf();
    const written = await write.acquire();
    const writers = Array.from({ length: 100 }, () => write.using(() => undefined, PATIENT));
    const reading = read.acquire(PATIENT);
    await areWaiting(1);
    await written.release();
    const lease = await reading;
    await eventually(async () => (await marks()) === 1);
    const sent = await redis.commandsDuring(async () => {
      await lease.release();
      await Promise.all(writers);
    });
    // The release of the reader, and those who ask on its message.
    expect(sent.evalsha).toBeLessThanOrEqual(100 + 6);
  });

  it.each([
    ['that starts', {}],
    ['that needs a token', { fenced: true }],
  ])('new ones find no mark of a writer %s, once it was handed it', async (_, options) => {
    const [holder, waiter] = [opened(), opened()];
    const { write } = holder.locks.get('a');
    const written = await write.acquire();
    const ours = write.acquire({ ...PATIENT, ...options });
    const theirs = waiter.locks.get('a').write.acquire({ ...PATIENT, ...options });
    await inQueue(waiter);
    await eventually(async () => (await marks()) === 2);
    await written.release();
    const first = await Promise.race([ours, theirs]);
    expect(await marks()).toBe(1);
    await first.release();
    const leases = await Promise.all([ours, theirs]);
    expect(await marks()).toBe(0);
    for (const lease of leases) if (lease !== first) await lease.release();
    await (await lockOf().read.acquire({ waitTimeMs: 0 })).release();
  });

  it('leaves no trace of a writer that gives up in the queue', async () => {
    const [holder, waiter] = [opened(), opened()];
    const written = await holder.locks.get('a').write.acquire();
    const waiting = watch(waiter.locks.get('a').write.acquire({ waitTimeMs: 300 }));
    await inQueue(waiter);
    expect(await marks()).toBe(1);
    for (const key of await redis.admin.keys('nestjs_*')) {
      expect(await redis.admin.pttl(key)).toBeGreaterThan(0);
    }
    await expect(waiting.promise).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await eventually(async () => (await redis.admin.keys('nestjs_*')).length === 0);
    await written.release();
  });

  it('is held to all callers while a writer that was handed it has yet to enter', async () => {
    const [holder, waiter] = [opened(), opened({ claimTimeMs: 20_000 })];
    const written = await holder.locks.get('a').write.acquire();
    const waiting = waiter.locks.get('a').write.acquire({ ...PATIENT, fenced: true });
    await inQueue(waiter);
    let enter: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (enter = resolve));
    const run = waiter.connection.run.bind(waiter.connection);
    waiter.connection.run = async (...call) => {
      await held;
      return run(...call);
    };
    await written.release();
    expect(Object.entries(await redis.admin.hgetall('a'))).toContainEqual(['mode', 'write']);
    expect(Object.values(await redis.admin.hgetall('a'))).toContain('0');
    const { read, write } = lockOf();
    expect(await read.tryAcquire()).toBeNull();
    expect(await write.tryAcquire()).toBeNull();
    expect(await write.isLocked()).toBe(true);
    expect(await read.isLocked()).toBe(false);
    enter();
    const lease = await waiting;
    expect(lease.fencingToken).toBeGreaterThan(0);
    expect(await redis.admin.hgetall('a')).toEqual(HANDED_WRITE_LOCK.held(lease.owner));
    await lease.release();
  });

  it('is not handed to a waiter for a lock of another kind with the name', async () => {
    const other = opened();
    const locks = new LockService(other.context);
    const [holder, writer] = [opened(), lockOf()];
    const held = await new LockService(holder.context).acquire('a');
    const leaves = new AbortController();
    const waiting = watch(locks.acquire('a', { ...PATIENT, signal: leaves.signal }));
    await untilQueued(redis, 'a', [other]);
    await redis.admin.del('a');
    await (await writer.write.acquire()).release();
    expect(await redis.admin.exists('a')).toBe(0);
    expect(await redis.admin.zcard('nestjs_lock_queue:{a}')).toBe(1);
    await expect(held.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(waiting.state).toBe('pending');
    leaves.abort(new Error('enough'));
    await expect(waiting.promise).rejects.toThrow('enough');
  });

  it.each([1, 2])(
    'of Java get in while %d processes with 50 writers each keep asking',
    async (processes) => {
      const clients = Array.from({ length: processes }, () => opened());
      let isOn = true;
      let isJavaReading = false;
      const violations: boolean[] = [];
      const writers = clients.flatMap(({ locks }) =>
        Array.from({ length: 50 }, async () => {
          const work = async () => {
            if (isJavaReading) violations.push(true);
            await roundTrips(redis, 1);
          };
          while (isOn) await locks.get('a').write.using(work, PATIENT);
        }),
      );
      const ears = redis.admin.duplicate();
      for (let round = 0; round < 2; round += 1) {
        const stopwatch = new Stopwatch();
        const got = new Promise<void>((resolve, reject) => {
          // A thread does one thing at a time.
          let isBusy = false;
          const attempt = async () => {
            if (isBusy) return;
            isBusy = true;
            isJavaReading = await javaReader.tryLock(redis.admin, 'a');
            isBusy = isJavaReading;
            if (isJavaReading) resolve();
          };
          ears.on('message', () => void attempt().catch(reject));
        });
        await ears.subscribe(channelOf('a'));
        await got;
        ears.removeAllListeners('message');
        await ears.unsubscribe();
        // Once a second at least.
        expect(stopwatch.ms).toBeLessThan(5 * 1_000);
        await roundTrips(redis, 5);
        isJavaReading = false;
        await javaReader.unlock(redis.admin, 'a');
      }
      ears.disconnect();
      isOn = false;
      await Promise.all(writers);
      expect(violations).toEqual([]);
    },
  );
});
