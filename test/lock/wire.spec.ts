import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockService, LockStateError, LockTimeoutError } from 'nestjs-redis-lock';
import { Redis } from 'ioredis';
import { expectUntouched, type ForeignKey } from '../support/foreign-keys.js';
import { FOREIGN_OWNER, redisson } from '../support/redisson.js';
import { eventually, PROMPT_MS, roundTrips, useLocks, useRedis, watch } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';

describe('LockService on the wire', () => {
  const redis = useRedis();
  let messages: [channel: string, payload: string][];
  let listener: Redis;

  beforeEach(() => {
    messages = [];
    listener = new Redis(redis.url, { lazyConnect: true });
    listener.on('message', (channel, payload) => messages.push([channel, payload]));
  });
  // In order: nothing that was published before is heard by the next spec.
  afterEach(() => listener.quit());
  const open = useLocks(redis, (context) => new LockService(context));

  describe('what Java sees of ours', () => {
    it('is a hash of the plain name with one field, owner → hold count, and a TTL', async () => {
      const { locks } = open();
      await locks.using('a', async (lease) => {
        expect(lease.owner).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9]\d*$/);
        expect(await redis.admin.type('a')).toBe('hash');
        expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
        expect(await redis.admin.pttl('a')).toBeGreaterThan(29_000);
        expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(30_000);
        expect(await redis.admin.keys('*')).toEqual(['a']);
        await locks.using('a', async () => {
          expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '2' });
        });
        expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
      });
      expect(await redis.admin.keys('*')).toEqual([]);
    });

    it('has the TTL of a fixed lease, whole milliseconds', async () => {
      const { locks } = open();
      await locks.acquire('a', { leaseTimeMs: 7_500 });
      expect(await redis.admin.pttl('a')).toBeGreaterThan(7_000);
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(7_500);
    });

    it('has its TTL set back by the watchdog at every third of the lease, by no more than that', async () => {
      const client = open({ watchdogLeaseMs: 1_200 });
      const lease = await client.locks.acquire('a');
      await redis.admin.pexpire('a', 1_100);
      await eventually(async () => (await redis.admin.pttl('a')) > 1_100);
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(1_200);
      expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    });

    it('keeps a Java service out, and is not released by it', async () => {
      const { locks } = open();
      const lease = await locks.acquire('a');
      const left = await redisson.tryLock(redis.admin, 'a');
      expect(left).toBeGreaterThan(29_000);
      await expect(redisson.unlock(redis.admin, 'a')).rejects.toThrow('not locked');
      expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
      await lease.release();
      expect(await redisson.tryLock(redis.admin, 'a')).toBeNull();
    });

    it('costs one script to acquire and one to release, and a lock object nothing', async () => {
      const { locks } = open();
      await (await locks.acquire('a')).release();
      const sent = await redis.commandsDuring(async () => {
        for (let i = 0; i < 100; i += 1) locks.get(`a${i}`);
        await (await locks.acquire('a')).release();
      });
      expect(sent).toEqual({
        evalsha: 2,
        pttl: 1,
        hset: 1,
        pexpire: 1,
        hget: 1,
        exists: 1,
        del: 1,
        publish: 1,
      });
    });
  });

  describe('what we see of Java', () => {
    it('keeps us out until it is unlocked: DEL and PUBLISH 0', async () => {
      const { locks } = open({ pollIntervalMs: 60_000 });
      await redisson.tryLock(redis.admin, 'a');
      expect(await locks.get('a').isLocked()).toBe(true);
      expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(29_000);
      expect(await locks.tryAcquire('a')).toBeNull();
      const waiting = watch(locks.acquire('a', { waitTimeMs: 60_000 }));
      await eventually(async () => (await redis.wakeUpChannels()).length === 1);
      await roundTrips(redis, 3);
      expect(waiting.state).toBe('pending');
      const sinceUnlock = new Stopwatch();
      await redisson.unlock(redis.admin, 'a');
      const lease = await waiting.promise;
      expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
      expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
    });

    it('keeps us out for ever when it has no TTL, and then says so', async () => {
      const { locks } = open();
      await redis.admin.hset('a', FOREIGN_OWNER, 1);
      expect(await locks.get('a').remainingTimeMs()).toBe(Infinity);
      const error = await locks.acquire('a', { waitTimeMs: 400 }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ retryAfterMs: Infinity });
      expect(await redis.admin.pttl('a')).toBe(-1);
      expect(await locks.get('a').forceRelease()).toBe(true);
      expect(await locks.tryAcquire('a')).not.toBeNull();
    });
  });

  describe('names', () => {
    it.each([
      ['{shop}:stock', 'redisson_lock__channel:{shop}:stock', 'redisson_lock_token:{shop}:stock'],
      ['stock:{shop}', 'redisson_lock__channel:stock:{shop}', 'redisson_lock_token:stock:{shop}'],
      ['stock', 'redisson_lock__channel:{stock}', 'redisson_lock_token:{stock}'],
      ['商品 1', 'redisson_lock__channel:{商品 1}', 'redisson_lock_token:{商品 1}'],
    ])(
      '%s has its channel and its token key where Redisson has them',
      async (name, channel, token) => {
        const { locks } = open();
        await listener.subscribe(channel);
        const lease = await locks.acquire(name, { fenced: true });
        expect((await redis.admin.keys('*')).sort()).toEqual([name, token].sort());
        await lease.release();
        await eventually(() => messages.length > 0);
        expect(messages).toEqual([[channel, '0']]);
      },
    );

    it('puts keyPrefix before the name of every key and channel, and nowhere else', async () => {
      const { locks } = open({ keyPrefix: 'shop:' });
      await listener.subscribe('redisson_lock__channel:{shop:a}');
      const lease = await locks.acquire('a', { fenced: true });
      expect(lease.name).toBe('a');
      expect(locks.get('a').name).toBe('a');
      expect((await redis.admin.keys('*')).sort()).toEqual([
        'redisson_lock_token:{shop:a}',
        'shop:a',
      ]);
      await expect(locks.acquire('a', { waitTimeMs: 0 })).rejects.toMatchObject({ lockName: 'a' });
      await lease.release();
      await eventually(() => messages.length > 0);
    });

    it('never lets two prefixes meet', async () => {
      const [shop, mall, bare] = [
        open({ keyPrefix: 'shop:' }),
        open({ keyPrefix: 'mall:' }),
        open(),
      ];
      await shop.locks.acquire('a');
      expect(await mall.locks.tryAcquire('a')).not.toBeNull();
      expect(await bare.locks.tryAcquire('a')).not.toBeNull();
      expect(await bare.locks.tryAcquire('shop:a')).toBeNull();
    });
  });

  describe('fencing tokens', () => {
    const tokenKey = 'redisson_lock_token:{a}';
    const fenced = async (locks: LockService) => {
      const lease = await locks.acquire('a', { fenced: true });
      await lease.release();
      return lease.fencingToken;
    };

    it('are plain decimal digits in the token key of Redisson, which does not end, as there', async () => {
      const { locks } = open();
      const token = await fenced(locks);
      expect(Number.isSafeInteger(token)).toBe(true);
      expect(await redis.admin.get(tokenKey)).toBe(String(token));
      expect(await redis.admin.get(tokenKey)).toMatch(/^\d{16}$/);
      expect(await redis.admin.pttl(tokenKey)).toBe(-1);
    });

    it('start at the time of the server in microseconds', async () => {
      const { locks } = open();
      const [seconds = NaN] = await redis.admin.time();
      const token = await fenced(locks);
      expect(token).toBeGreaterThanOrEqual(seconds * 1_000_000);
      expect(token).toBeLessThan((seconds + 60) * 1_000_000);
    });

    it('rise with every grant, also to other clients and in nested calls', async () => {
      const [ours, others] = [open(), open()];
      const tokens = [await fenced(ours.locks), await fenced(others.locks)];
      await ours.locks.using(
        'a',
        async (outer) => {
          tokens.push(outer.fencingToken);
          const inner = await ours.locks.acquire('a', { fenced: true });
          tokens.push(inner.fencingToken);
          await inner.release();
        },
        { fenced: true },
      );
      tokens.push(await fenced(others.locks));
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    });

    it('rise from a counter that is ahead of the time', async () => {
      const { locks } = open();
      await redis.admin.set(tokenKey, '8000000000000000');
      expect(await fenced(locks)).toBe(8_000_000_000_000_001);
      expect(await redis.admin.get(tokenKey)).toBe('8000000000000001');
    });

    it('are handed on to a nested lease that does not ask for its own', async () => {
      const { locks } = open();
      await locks.using(
        'a',
        async ({ fencingToken }) => {
          await locks.using('a', (inner) => {
            expect(inner.fencingToken).toBe(fencingToken);
          });
        },
        { fenced: true },
      );
    });

    it.each(['abc', '1e3', '-1', '', '1.5', '9007199254740991', '99999999999999999999'])(
      'refuse a counter that holds %p: nothing is granted, nothing is changed',
      async (value) => {
        const { locks } = open();
        await redis.admin.set(tokenKey, value);
        await expect(locks.acquire('a', { fenced: true })).rejects.toThrow(LockStateError);
        expect(await redis.admin.get(tokenKey)).toBe(value);
        expect(await redis.admin.exists('a')).toBe(0);
        await redis.admin.del(tokenKey);
      },
    );
  });

  describe('a key that holds something else', () => {
    const others: ForeignKey[] = [
      ['a string', (admin) => admin.set('a', 'stock')],
      ['a string with a TTL', (admin) => admin.set('a', 'stock', 'PX', 60_000)],
      ['a list', (admin) => admin.rpush('a', 'x', 'y')],
      ['a sorted set', (admin) => admin.zadd('a', 1, 'x')],
      ['a stream', (admin) => admin.xadd('a', '*', 'x', 'y')],
      ['a read lock', (admin) => admin.hset('a', { mode: 'read', [FOREIGN_OWNER]: 1 })],
      [
        'a write lock',
        (admin) => admin.hset('a', { mode: 'write', [`${FOREIGN_OWNER}:write`]: 1 }),
      ],
      ['the record of a product', (admin) => admin.hset('a', { name: 'phone', price: '99' })],
      ['a hash with one field', (admin) => admin.hset('a', { stock: '10' })],
      ['a hash whose field is like an owner', (admin) => admin.hset('a', { 'x:1': 'abc' })],
    ];

    it.each(others)('is refused and untouched, whatever is asked: %s', async (_, write) => {
      const { locks } = open();
      await write(redis.admin);
      const lock = locks.get('a');
      await expectUntouched(redis, [
        () => lock.acquire(),
        () => lock.acquire({ fenced: true }),
        () => lock.tryAcquire(),
        () => lock.using(() => 1),
        () => lock.isLocked(),
        () => lock.remainingTimeMs(),
        () => lock.forceRelease(),
      ]);
    });

    it.each(others)(
      'ends the lease of the owner that held it before, and stays as it is: %s',
      async (_, write) => {
        const client = open({ watchdogLeaseMs: 600 });
        const lease = await client.locks.acquire('a');
        const unwatched = await client.locks.acquire('b', { leaseTimeMs: 60_000 });
        await redis.admin.del('a');
        await write(redis.admin);
        const before = await redis.admin.dump('a');
        await eventually(() => lease.state === 'lost');
        await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
        expect(await redis.admin.dump('a')).toEqual(before);

        await redis.admin.rename('a', 'b');
        await expect(unwatched.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
        expect(await redis.admin.dump('b')).toEqual(before);
      },
    );
  });
});
