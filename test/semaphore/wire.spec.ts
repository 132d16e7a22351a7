import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import {
  NO_LEASE,
  permitChannelOf,
  permitIdsIn,
  redissonPermits as java,
  timeoutOf,
} from '../support/redisson-permits.js';
import { eventually, PROMPT_MS, roundTrips, useLocks, useRedis, watch } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';

describe('SemaphoreService on the wire', () => {
  const redis = useRedis();
  let messages: [channel: string, payload: string][];
  let listener: Redis;

  /** Receives the messages that a Java waiter of this semaphore would receive. */
  const listen = (key: string) => listener.subscribe(permitChannelOf(key));
  /** The messages so far, once everything that is on its way has arrived. */
  const heard = async () => {
    await roundTrips(redis, 1);
    await listener.ping();
    return messages.splice(0).map(([, payload]) => payload);
  };

  beforeEach(() => {
    messages = [];
    listener = new Redis(redis.url, { lazyConnect: true });
    listener.on('message', (channel, payload) => messages.push([channel, payload]));
  });
  // In order: nothing that was published before is heard by the next spec.
  afterEach(() => listener.quit());
  const open = useLocks(redis, (context) => new SemaphoreService(context));
  const keys = async () =>
    (await redis.admin.keys('*'))
      .filter((key) => !key.startsWith('nestjs_semaphore_request:'))
      .sort();
  const scoreOf = (id: string) => redis.admin.zscore(timeoutOf('a'), Buffer.from(id, 'hex'));

  describe('what Java sees of ours', () => {
    it('is a counter of the plain name and a sorted set of 16 raw bytes → end of the lease', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(5);
      expect(await keys()).toEqual(['a']);
      expect(await redis.admin.type('a')).toBe('string');
      expect(await redis.admin.pttl('a')).toBe(-1);
      const before = Date.now();
      const lease = await semaphore.acquire({ permits: 2 });
      expect(await redis.admin.get('a')).toBe('3');
      expect(await keys()).toEqual(['a', '{a}:timeout']);
      expect(await redis.admin.type('{a}:timeout')).toBe('zset');
      expect(await redis.admin.pttl('{a}:timeout')).toBe(-1);
      expect(lease.permitIds).toHaveLength(2);
      for (const id of lease.permitIds) expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect((await permitIdsIn(redis.admin, '{a}:timeout')).sort()).toEqual(
        [...lease.permitIds].sort(),
      );
      for (const id of lease.permitIds) {
        const score = await scoreOf(id);
        expect(score).toMatch(/^[1-9]\d{12}$/);
        expect(Number(score)).toBeGreaterThanOrEqual(before + 30_000);
        expect(Number(score)).toBeLessThanOrEqual(Date.now() + 30_000);
      }
      await lease.release();
      expect(await keys()).toEqual(['a']);
      expect(await redis.admin.get('a')).toBe('5');
    });

    it('has the end of a fixed lease as its score, and a later one after a renewal', async () => {
      const semaphore = open({ watchdogLeaseMs: 600 }).locks.get('a');
      await semaphore.setPermits(2);
      const fixed = await semaphore.acquire({ leaseTimeMs: 7_500 });
      const left = Number(await scoreOf(fixed.permitIds[0] ?? '')) - Date.now();
      expect(left).toBeGreaterThan(7_000);
      expect(left).toBeLessThanOrEqual(7_500);
      const watched = await semaphore.acquire();
      const id = watched.permitIds[0] ?? '';
      const first = Number(await scoreOf(id));
      await eventually(async () => Number(await scoreOf(id)) > first);
      expect(Number(await scoreOf(id))).toBeLessThanOrEqual(Date.now() + 600);
      expect(await scoreOf(id)).toMatch(/^\d{13}$/);
    });

    it('is announced by the number of free permits whenever there are more, and never otherwise', async () => {
      const semaphore = open().locks.get('a');
      await listen('a');
      await semaphore.trySetPermits(3);
      expect(await heard()).toEqual(['3']);
      await semaphore.trySetPermits(9);
      const one = await semaphore.acquire();
      const two = await semaphore.acquire({ permits: 2 });
      expect(await heard()).toEqual([]);
      await one.release();
      expect(await heard()).toEqual(['1']);
      await two.release();
      expect(await heard()).toEqual(['3']);
      await semaphore.addPermits(4);
      expect(await heard()).toEqual(['7']);
      await semaphore.addPermits(-2);
      await semaphore.setPermits(4);
      await semaphore.setPermits(4);
      expect(await heard()).toEqual([]);
      await semaphore.setPermits(6);
      expect(await heard()).toEqual(['6']);
    });

    it('is never announced as a negative number, nor as one that is no int', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(3);
      const leases = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
      await semaphore.setPermits(1);
      await listen('a');
      await leases[0]?.release();
      await semaphore.addPermits(1);
      expect(await redis.admin.get('a')).toBe('0');
      expect(await heard()).toEqual([]);
      await leases[1]?.release();
      expect(await heard()).toEqual(['2']);
      // More than a Java service ever writes.
      await redis.admin.set('a', '5000000000');
      await (await semaphore.acquire()).release();
      expect(await heard()).toEqual(['2147483647']);
    });

    it('is taken back by a Java service when our lease has ended, and our release leaves that alone', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(1);
      const lease = await semaphore.acquire({ leaseTimeMs: 50 });
      const ids = await eventually(
        async () => (await java.tryAcquire(redis.admin, 'a', 1, 30_000)) ?? false,
      );
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await permitIdsIn(redis.admin, timeoutOf('a'))).toEqual(ids);
      expect(await redis.admin.get('a')).toBe('0');
    });

    it('can be released by a Java service, by its id', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(1);
      const lease = await semaphore.acquire();
      expect(await java.tryRelease(redis.admin, 'a', lease.permitIds[0] ?? '')).toBe(true);
      expect(await semaphore.availablePermits()).toBe(1);
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
      expect(await semaphore.availablePermits()).toBe(1);
    });

    it('leaves a mark of a waiter for several permits, with a TTL, and no more', async () => {
      const semaphore = open({ pollIntervalMs: 200 }).locks.get('a');
      await semaphore.setPermits(2);
      const lease = await semaphore.acquire();
      const waiting = watch(semaphore.acquire({ permits: 2 }));
      await eventually(() =>
        redis.admin.exists('nestjs_semaphore_waiting:{a}').then((n) => n === 1),
      );
      const [, id, permits] = /^([0-9a-f]{32}):(\d+)$/.exec(
        (await redis.admin.get('nestjs_semaphore_waiting:{a}')) ?? '',
      ) ?? ['', '', ''];
      expect(permits).toBe('2');
      expect(await redis.admin.pttl('nestjs_semaphore_waiting:{a}')).toBeLessThanOrEqual(600);
      await lease.release();
      expect((await waiting.promise).permitIds[0]).toBe(id);
      expect(await redis.admin.exists('nestjs_semaphore_waiting:{a}')).toBe(0);
      // A request that must take effect only once leaves a marker until its answer is there.
      await semaphore.addPermits(1);
      await semaphore.tryRelease('0'.repeat(32));
      await eventually(async () => (await redis.admin.keys('nestjs_*')).length === 0);
    });
  });

  describe('what we see of Java', () => {
    it('keeps us out until it releases a permit', async () => {
      const semaphore = open({ pollIntervalMs: 60_000 }).locks.get('a');
      expect(await java.trySetPermits(redis.admin, 'a', 1)).toBe(true);
      expect(await semaphore.trySetPermits(4)).toBe(false);
      const [id = ''] = (await java.tryAcquire(redis.admin, 'a')) ?? [];
      expect(await scoreOf(id)).toBe(NO_LEASE);
      expect(await semaphore.remainingTimeMs(id)).toBe(Infinity);
      expect(await semaphore.acquiredPermits()).toBe(1);
      expect(await semaphore.permits()).toBe(1);
      const error = await semaphore.acquire({ waitTimeMs: 400 }).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', retryAfterMs: Infinity });
      const waiting = semaphore.acquire({ waitTimeMs: 60_000 });
      await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 1);
      await roundTrips(redis, 3);
      const sinceRelease = new Stopwatch();
      await java.tryRelease(redis.admin, 'a', id);
      (await waiting).assertHeld();
      expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    });

    it('can be released here, by its ids', async () => {
      const semaphore = open().locks.get('a');
      await java.trySetPermits(redis.admin, 'a', 3);
      const ids = (await java.tryAcquire(redis.admin, 'a', 3)) ?? [];
      await listen('a');
      expect(await semaphore.remainingTimeMs(ids[0] ?? '')).toBe(Infinity);
      expect(await semaphore.updateLeaseTime(ids[0] ?? '', 5_000)).toBe(true);
      expect(await semaphore.remainingTimeMs(ids[0] ?? '')).toBeGreaterThan(4_000);
      expect(await semaphore.tryRelease((ids[0] ?? '').toUpperCase())).toBe(true);
      await semaphore.release(ids.slice(1));
      expect(await heard()).toEqual(['1', '3']);
      expect(await semaphore.availablePermits()).toBe(3);
      for (const id of ids) expect(await java.tryRelease(redis.admin, 'a', id)).toBe(false);
    });

    it('leaves the TTL that it gave the semaphore, on the leases too', async () => {
      const semaphore = open().locks.get('a');
      await java.trySetPermits(redis.admin, 'a', 3);
      await redis.admin.pexpire('a', 50_000);
      await semaphore.acquire();
      await semaphore.setPermits(8);
      await semaphore.addPermits(1);
      expect(await redis.admin.pttl('a')).toBeGreaterThan(45_000);
      expect(await redis.admin.pttl(timeoutOf('a'))).toBeGreaterThan(45_000);
    });
  });

  it.each([
    ['{shop}:stock', '{shop}:stock:timeout', 'redisson_sc:{shop}:stock'],
    ['stock:{shop}', 'stock:{shop}:timeout', 'redisson_sc:stock:{shop}'],
    ['stock', '{stock}:timeout', 'redisson_sc:{stock}'],
    ['商品 1', '{商品 1}:timeout', 'redisson_sc:{商品 1}'],
  ])('%s has its leases and its channel where Redisson has them', async (name, leases, channel) => {
    const semaphore = open().locks.get(name);
    await listener.subscribe(channel);
    await semaphore.setPermits(1);
    const lease = await semaphore.acquire();
    expect(await keys()).toEqual([name, leases].sort());
    await lease.release();
    await eventually(() => messages.length === 2);
    expect(messages.map(([to]) => to)).toEqual([channel, channel]);
  });

  it('puts keyPrefix before the name, and nowhere else', async () => {
    const semaphore = open({ keyPrefix: 'shop:' }).locks.get('a');
    await semaphore.setPermits(1);
    await semaphore.acquire();
    expect(await keys()).toEqual(['shop:a', '{shop:a}:timeout']);
  });

  it('goes by the clock of the server: a client whose clock is ahead takes no permit back', async () => {
    const [ours, others] = [open().locks.get('a'), open().locks.get('a')];
    await ours.setPermits(1);
    const lease = await ours.acquire();
    const { now } = Date;
    Date.now = () => now() + 3_600_000;
    try {
      expect(await others.tryAcquire()).toBeNull();
      expect(await others.acquiredPermits()).toBe(1);
    } finally {
      Date.now = now;
    }
    await lease.release();
    expect(await others.availablePermits()).toBe(1);
  });
});
