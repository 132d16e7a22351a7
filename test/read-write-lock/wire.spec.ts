import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Lease } from 'nestjs-redis-lock';
import { Redis } from 'ioredis';
import { expectUntouched, type ForeignKey } from '../support/foreign-keys.js';
import { eventually, PROMPT_MS, roundTrips, useRedis, watch } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';
import {
  channelOf,
  JavaThread,
  look,
  THREAD_1,
  THREAD_2,
  timeoutKey,
} from './redisson-read-write.js';
import { useReadWriteLocks } from './sides.js';

/** Where a writer and a reader are remembered while they wait. */
const WAITING = ['nestjs_rwlock_writers:{a}', 'nestjs_rwlock_readers:{a}'];

describe('a read-write lock on the wire', () => {
  const redis = useRedis();
  let messages: [channel: string, payload: string][];
  let listener: Redis;
  let java: JavaThread;
  let other: JavaThread;

  beforeEach(async () => {
    messages = [];
    listener = new Redis(redis.url, { lazyConnect: true });
    listener.on('message', (channel, payload) => messages.push([channel, payload]));
    await listener.subscribe(channelOf('a'));
    java = new JavaThread(redis.admin);
    other = new JavaThread(redis.admin, THREAD_2);
  });
  // In order: nothing that was published before is heard by the next spec.
  afterEach(() => listener.quit());
  const { open } = useReadWriteLocks(redis);
  /** The messages since the last look. */
  const heard = async () => {
    await roundTrips(redis, 3);
    await listener.ping();
    return messages.splice(0).map(([, payload]) => payload);
  };
  const lockOf = (settings = {}) => open(settings).locks.get('a');

  describe('what Java sees of ours', () => {
    it('is a hash with mode and readers, and a key for each hold that lives as long as its lease', async () => {
      const { read } = lockOf();
      await read.using(async ({ owner: first }) => {
        expect(await look(redis.admin)).toEqual({
          a: [{ mode: 'read', [first]: '1' }, 30],
          [timeoutKey('a', first, 1)]: ['1', 30],
        });
        const second = await lockOf().read.acquire({ leaseTimeMs: 60_000 });
        await read.using(
          async () => {
            expect(await look(redis.admin)).toEqual({
              a: [{ mode: 'read', [first]: '2', [second.owner]: '1' }, 60],
              [timeoutKey('a', first, 1)]: ['1', 30],
              [timeoutKey('a', first, 2)]: ['1', 20],
              [timeoutKey('a', second.owner, 1)]: ['1', 60],
            });
          },
          { leaseTimeMs: 20_000 },
        );
        await second.release();
        expect(await look(redis.admin)).toEqual({
          a: [{ mode: 'read', [first]: '1' }, 30],
          [timeoutKey('a', first, 1)]: ['1', 30],
        });
        expect(await heard()).toEqual([]);
      });
      expect(await look(redis.admin)).toEqual({});
      expect(await heard()).toEqual(['0']);
    });

    it('is a hash with mode and one writer', async () => {
      const { write } = lockOf();
      await write.using(async ({ owner }) => {
        expect(await look(redis.admin)).toEqual({
          a: [{ mode: 'write', [`${owner}:write`]: '1' }, 30],
        });
        await write.using(
          async () => {
            expect(await look(redis.admin)).toEqual({
              a: [{ mode: 'write', [`${owner}:write`]: '2' }, 60],
            });
          },
          { leaseTimeMs: 60_000 },
        );
        expect(await look(redis.admin)).toEqual({
          a: [{ mode: 'write', [`${owner}:write`]: '1' }, 60],
        });
        expect(await heard()).toEqual([]);
      });
      // A client that listens may be an outsider. The note on its window ends after 3 s.
      await eventually(async () => expect(await look(redis.admin)).toEqual({}));
      expect(await heard()).toEqual(['1', '0']);
    });

    it('is both while the writer reads, and read after the downgrade, which is announced', async () => {
      const { read, write } = lockOf();
      const reading = await write.using(
        async ({ owner }) => {
          const lease = await read.acquire({ leaseTimeMs: 10_000 });
          expect(await look(redis.admin)).toEqual({
            a: [{ mode: 'write', [`${owner}:write`]: '1', [lease.owner]: '1' }, 60],
            [timeoutKey('a', lease.owner, 1)]: ['1', 10],
          });
          return lease;
        },
        { leaseTimeMs: 60_000 },
      );
      expect(await look(redis.admin)).toEqual({
        a: [{ mode: 'read', [reading.owner]: '1' }, 10],
        [timeoutKey('a', reading.owner, 1)]: ['1', 10],
      });
      expect(await heard()).toEqual(['1', '0']);
      await reading.release();
      expect(await look(redis.admin)).toEqual({});
      expect(await heard()).toEqual(['0']);
    });

    it('has each TTL set back by the watchdog, by no more than that', async () => {
      const { read, write } = lockOf({ watchdogLeaseMs: 1_200 });
      const [lease, writing] = await write.using(async (w) => [await read.acquire(), w] as const);
      expect(writing.state).toBe('released');
      const keys = ['a', timeoutKey('a', lease.owner, 1)];
      for (const key of keys) await redis.admin.pexpire(key, 1_100);
      for (const key of keys) {
        await eventually(async () => (await redis.admin.pttl(key)) > 1_100);
        expect(await redis.admin.pttl(key)).toBeLessThanOrEqual(1_200);
      }
    });

    it('lets a Java reader in beside our readers, and keeps a Java writer out', async () => {
      const { read } = lockOf();
      const lease = await read.acquire();
      expect(await java.tryRead('a')).toBeNull();
      expect(await other.tryWrite('a')).toBeGreaterThan(29_000);
      await lease.release();
      expect(await heard()).toEqual([]);
      expect(await other.tryWrite('a')).toBeGreaterThan(29_000);
      await java.unlockRead('a');
      expect(await heard()).toEqual(['0']);
      expect(await other.tryWrite('a')).toBeNull();
    });

    it('keeps Java out while we write, and is not released by it', async () => {
      const { write } = lockOf();
      const lease = await write.acquire();
      expect(await java.tryRead('a')).toBeGreaterThan(29_000);
      expect(await java.tryWrite('a')).toBeGreaterThan(29_000);
      await expect(java.unlockRead('a')).rejects.toThrow('not locked');
      await expect(java.unlockWrite('a')).rejects.toThrow('not locked');
      lease.assertHeld();
      await lease.release();
      expect(await java.tryWrite('a')).toBeNull();
    });

    it.each([
      ['{shop}:stock', 'redisson_rwlock:{shop}:stock', '{shop}:stock:'],
      ['stock:{shop}', 'redisson_rwlock:stock:{shop}', 'stock:{shop}:'],
      ['a:b', 'redisson_rwlock:{a:b}', '{a:b}:'],
      ['商品 1', 'redisson_rwlock:{商品 1}', '{商品 1}:'],
    ])('testName: %s has its channel and its keys where Redisson has them', async (...row) => {
      const [name, channel, prefix] = row;
      const { read, write } = open().locks.get(name);
      await listener.subscribe(channel);
      const lease = await read.acquire();
      const keys = [name, `${prefix}${lease.owner}:rwlock_timeout:1`];
      expect((await redis.admin.keys('*')).sort()).toEqual(keys.sort());
      await lease.release();
      const fenced = await write.acquire({ fenced: true });
      const token = name.includes('{') ? name : `{${name}}`;
      expect((await redis.admin.keys('*')).sort()).toEqual(
        [name, `redisson_lock_token:${token}`].sort(),
      );
      expect(await redis.admin.incr(`redisson_lock_token:${token}`)).toBe(
        (fenced.fencingToken ?? NaN) + 1,
      );
      await fenced.release();
      await eventually(() => messages.length === 3);
      expect(messages).toEqual([
        [channel, '0'],
        [channel, '1'],
        [channel, '0'],
      ]);
    });
  });

  describe('what we see of Java', () => {
    it('finds out by its poll that Java has gone from writing to reading: that is not announced', async () => {
      const { read, write } = lockOf({ pollIntervalMs: 200 });
      await java.tryWrite('a');
      await java.tryRead('a');
      const waiting = watch(read.acquire());
      await redis.listening(channelOf('a'), 2);
      await java.unlockWrite('a');
      expect(await heard()).toEqual([]);
      await (await waiting.promise).release();
      expect(await write.tryAcquire()).toBeNull();
    });

    it('gives a Java writer the lock whose lease has ended, and our late release leaves it alone', async () => {
      const { read, write } = lockOf();
      for (const side of [read, write]) {
        const lease = await side.acquire({ leaseTimeMs: 50 });
        await eventually(async () => (await java.tryWrite('a')) === null);
        await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
        expect(await redis.admin.hgetall('a')).toEqual({
          mode: 'write',
          [`${THREAD_1}:write`]: '1',
        });
        await java.unlockWrite('a');
      }
    });
  });

  describe('the hazards of Redisson', () => {
    it('(a) an unknown field in the hash does not keep the lock from being freed and announced', async () => {
      const { read, write } = lockOf();
      for (const side of [write, read]) {
        const lease = await side.acquire();
        await redis.admin.hset('a', 'note', 'x', 'n', 1);
        await lease.release();
        expect(await redis.admin.exists('a')).toBe(0);
      }
      expect(await heard()).toEqual(['1', '0', '0']);
    });

    it('(a) nothing but mode and holders is ever in the hash', async () => {
      const { read, write } = lockOf();
      const waiting: Promise<Lease>[] = [];
      await write.using(async () => {
        await read.using(async () => {
          waiting.push(lockOf().write.acquire(), lockOf().read.acquire());
          await eventually(async () => (await redis.admin.exists(...WAITING)) === 2);
          for (const field of await redis.admin.hkeys('a')) {
            expect(field).toMatch(/^mode$|^[0-9a-f-]{36}:\d+(:write)?$/);
          }
        });
      });
      await Promise.all(waiting.map(async (lease) => (await lease).release()));
    });

    it('(b) the renewal of a reader never shortens the lease of another one', async () => {
      const [ours, client] = [lockOf(), open({ watchdogLeaseMs: 1_800 })];
      const long = await ours.read.acquire({ leaseTimeMs: 600_000 });
      const short = await client.locks.get('a').read.acquire();
      await eventually(() => client.eventsOf('renewed').length >= 2);
      expect(await redis.admin.pttl('a')).toBeGreaterThan(590_000);
      await short.renew(1_000);
      expect(await redis.admin.pttl('a')).toBeGreaterThan(590_000);
      await short.release();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(590_000);
      await long.release();
    });

    it('(b) a lease that Java has shortened is set right by the release of another reader', async () => {
      const long = await lockOf().read.acquire({ leaseTimeMs: 600_000 });
      await java.tryRead('a');
      await java.renewRead('a');
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(30_000);
      await (await lockOf().read.acquire({ leaseTimeMs: 60_000 })).release();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(590_000);
      await long.release();
      await java.unlockRead('a');
    });

    it('(b) such a lease is found, however many read', async () => {
      const some = { leaseTimeMs: 40_000 };
      const reading = Array.from({ length: 10 }, () => lockOf().read.acquire(some));
      const others = await Promise.all(reading);
      const long = await lockOf().read.acquire({ leaseTimeMs: 600_000 });
      await java.tryRead('a');
      const short = await lockOf().read.acquire({ leaseTimeMs: 60_000 });
      await java.renewRead('a');
      await short.release();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(590_000);
      for (const lease of [...others, long]) await lease.release();
      await java.unlockRead('a');
    });

    it('(c) the end of a nested read does not end the watchdog of the write', async () => {
      const client = open({ watchdogLeaseMs: 1_800 });
      const { read, write } = client.locks.get('a');
      await write.using(async (lease) => {
        await read.using(() => undefined);
        const renewals = client.eventsOf('renewed').length;
        await eventually(() => client.eventsOf('renewed').length >= renewals + 2);
        lease.assertHeld();
        expect(await redis.admin.exists('a')).toBe(1);
      });
    });

    it('(d) the field of a crashed reader does not outlast its lease when others go on reading', async () => {
      const { read, write } = lockOf();
      await java.tryRead('a', 1_000);
      const lease = await read.acquire();
      await eventually(async () => (await redis.admin.exists(timeoutKey('a', THREAD_1, 1))) === 0);
      expect(await redis.admin.hexists('a', THREAD_1)).toBe(1);
      await lease.release();
      expect(await look(redis.admin)).toEqual({});
      expect(await heard()).toEqual(['0']);
      await (await write.acquire({ waitTimeMs: 0 })).release();
    });

    it('(d) a writer gets in past readers that are all dead, though the hash lives on', async () => {
      const { write } = lockOf();
      await java.tryRead('a', 100);
      await redis.admin.pexpire('a', 600_000);
      const waiting = write.acquire();
      const stopwatch = new Stopwatch();
      const lease = await waiting;
      expect(stopwatch.ms).toBeLessThan(100 + PROMPT_MS);
      expect(await look(redis.admin)).toEqual({
        a: [{ mode: 'write', [`${lease.owner}:write`]: '1' }, 30],
      });
    });

    it('does not add the lease of a nested write to what is left', async () => {
      const { write } = lockOf();
      await write.using(() => write.using(() => undefined, { leaseTimeMs: 20_000 }));
      await write.using(async () => {
        await write.using(() => undefined);
        expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(30_000);
      });
    });
  });

  describe('a key that holds something else', () => {
    const others: ForeignKey[] = [
      ['a string', (admin) => admin.set('a', 'stock')],
      ['a list', (admin) => admin.rpush('a', 'x', 'y')],
      ['a sorted set', (admin) => admin.zadd('a', 1, 'x')],
      ['a lock', (admin) => admin.hset('a', { [THREAD_1]: 1 })],
      ['a record', (admin) => admin.hset('a', { name: 'phone', price: '99' })],
      ['a record with another mode', (admin) => admin.hset('a', { mode: 'dark', [THREAD_1]: 1 })],
      ['a record with mode read', (admin) => admin.hset('a', { mode: 'read', name: 'phone' })],
      ['a record with mode write', (admin) => admin.hset('a', { mode: 'write', name: 'phone' })],
    ];

    it.each(others)('is refused and untouched, whatever is asked: %s', async (_, write) => {
      const sides = lockOf();
      await write(redis.admin);
      for (const lock of [sides.read, sides.write]) {
        await expectUntouched(redis, [
          () => lock.acquire(),
          () => lock.tryAcquire(),
          () => lock.using(() => 1),
          () => lock.isLocked(),
          () => lock.remainingTimeMs(),
          () => lock.forceRelease(),
        ]);
      }
      expect(await redis.admin.pttl('a')).toBe(-1);
      expect(await redis.admin.keys('*')).toEqual(['a']);
    });

    it.each(others)('ends the lease of the owner that held it before: %s', async (_, write) => {
      for (const side of ['read', 'write'] as const) {
        const lease = await lockOf()[side].acquire();
        await redis.admin.del('a');
        await write(redis.admin);
        const before = await redis.admin.dump('a');
        await expect(lease.renew()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
        expect(lease.state).toBe('lost');
        expect(await redis.admin.dump('a')).toEqual(before);
        await redis.admin.del('a');
      }
    });
  });
});
