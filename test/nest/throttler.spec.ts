import { afterEach, describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockBackendError, LockConfigurationError } from 'nestjs-redis-lock';
import { RedisThrottlerModule, RedisThrottlerStorage } from 'nestjs-redis-lock/throttler';
import { HIT } from '../../libs/redis-lock/src/integrations/throttler/hits.scripts.js';
import { deliver, NO_NUMBERS } from '../support/deliver.js';
import { pageOf } from '../support/proofs.js';
import { eventually, seededRandom, useLocks, useProxy, useWorkers } from '../support/set-up.js';
import { useRealRedis } from '../support/redis-server.js';
import type { Api } from './throttled.worker.js';
import { visitsOf } from './visits.js';

const redis = useRealRedis();
const proxy = useProxy(redis);
const open = useLocks(redis, (context) => new RedisThrottlerStorage(context, 'reject'));

afterEach(() => redis.admin.flushall());

const keys = () => redis.keys();

const NEVER = { isBlocked: true, totalHits: NaN, timeToExpire: NaN, timeToBlockExpire: NaN };

/** Seconds that some have passed of; the machine may be slow. */
const about = (seconds: number): unknown => expect.closeTo(seconds, -1);

/** The entries in Redis become older, as if so much time had passed. */
async function pass(ms: number): Promise<void> {
  for (const key of await keys()) {
    for (const member of await redis.admin.zrange(key, 0, '-1')) {
      await redis.admin.zincrby(key, -ms, member);
    }
    await redis.admin.pexpire(key, Math.max(1, (await redis.admin.pttl(key)) - ms));
  }
  await eventually(
    async () => (await redis.admin.dbsize()) === (await redis.admin.keys('*')).length,
  );
}

describe('RedisThrottlerStorage in two instances', () => {
  /** Requests arrive at one of them and at the other in turn. */
  const opened = async () => {
    const storages = [open().locks, open().locks];
    for (const storage of storages) {
      await storage.increment('warm', 60_000, 1_000, 0, 'warm');
    }
    await redis.admin.flushall();
    let requests = 0;
    return async (
      key = 'visitor',
      { ttl = 1_000_000, limit = 3, block = 1_000_000, name = 'default' } = {},
    ) => storages[requests++ % 2]?.increment(key, ttl, limit, block, name);
  };
  const hits = async (request: Awaited<ReturnType<typeof opened>>, count: number) => {
    for (let i = 0; i < count; i += 1) await request();
  };

  it('counts a request', async () => {
    const request = await opened();
    expect(await request('a', { ttl: 1_000, limit: 1, block: 0 })).toEqual({
      totalHits: 1,
      timeToExpire: 1,
      isBlocked: false,
      timeToBlockExpire: 0,
    });
  });

  it('lets as many in as the limit says, and then no request until the block is over', async () => {
    const request = await opened();
    const let3In = [await request(), await request(), await request()];
    expect(let3In.map((record) => [record?.totalHits, record?.isBlocked])).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    const refused = { totalHits: 4, isBlocked: true, timeToBlockExpire: 1_000 };
    expect(await request()).toEqual({ ...refused, timeToExpire: about(1_000) });
    await pass(400_000);
    const left = { timeToExpire: about(600), timeToBlockExpire: about(600) };
    expect(await request()).toEqual({ ...refused, ...left });
    await pass(600_000);
    expect(await request()).toMatchObject({ totalHits: 1, isBlocked: false });
  });

  it('does not begin a block anew with every request that it refuses', async () => {
    const request = await opened();
    await hits(request, 4);
    for (const left of [800, 600, 400, 200]) {
      await pass(200_000);
      expect(await request()).toMatchObject({ isBlocked: true, timeToBlockExpire: about(left) });
    }
  });

  it('forgets a block with all that led to it, also when hits would last longer', async () => {
    const request = await opened();
    const options = { ttl: 1_000_000, block: 100_000 };
    for (let i = 0; i < 3; i += 1) await request('a', options);
    expect(await request('a', options)).toMatchObject({ isBlocked: true, timeToBlockExpire: 100 });
    await pass(100_000);
    expect(await request('a', options)).toEqual({
      totalHits: 1,
      // The window goes on.
      timeToExpire: about(900),
      isBlocked: false,
      timeToBlockExpire: 0,
    });
  });

  it('blocks for longer than hits last', async () => {
    const request = await opened();
    const options = { ttl: 1_000, block: 600_000 };
    for (let i = 0; i < 4; i += 1) await request('a', options);
    await pass(300_000);
    const blocked = { isBlocked: true, timeToBlockExpire: about(300) };
    expect(await request('a', options)).toMatchObject(blocked);
    await pass(300_000);
    expect(await request('a', options)).toMatchObject({ totalHits: 1, isBlocked: false });
  });

  it('lets every hit end by itself, not all of them at once', async () => {
    const request = await opened();
    await request();
    await pass(600_000);
    await request();
    expect(await request()).toMatchObject({ totalHits: 3, timeToExpire: about(400) });
    await pass(400_000);
    expect(await request()).toMatchObject({ totalHits: 3, isBlocked: false, timeToExpire: 1_000 });
    expect(await request()).toMatchObject({ isBlocked: true });
  });

  it('without a block lets the next one in as soon as the oldest hit ends', async () => {
    const request = await opened();
    const options = { block: 0 };
    await request('a', options);
    await pass(600_000);
    await request('a', options);
    await request('a', options);
    const left = { timeToExpire: about(400), timeToBlockExpire: about(400) };
    const refused = { totalHits: 4, isBlocked: true, ...left };
    for (let i = 0; i < 3; i += 1) expect(await request('a', options)).toEqual(refused);
    await pass(400_000);
    expect(await request('a', options)).toMatchObject({ totalHits: 3, isBlocked: false });
    const next = { isBlocked: true, timeToBlockExpire: about(600) };
    expect(await request('a', options)).toMatchObject(next);
  });

  it('lets no request in when the limit is 0', async () => {
    const request = await opened();
    const options = { limit: 0, ttl: 5_000 };
    const refused = { totalHits: 1, isBlocked: true, timeToExpire: 5, timeToBlockExpire: 5 };
    expect(await request('a', { ...options, block: 0 })).toEqual(refused);
    expect(await request('b', { ...options, block: 5_000 })).toEqual(refused);
  });

  it('keeps visitors and throttlers apart, also while one of them is blocked', async () => {
    const request = await opened();
    const options = { limit: 2, ttl: 200_000, block: 200_000 };
    for (let round = 0; round < 6; round += 1) {
      expect(await request('a', options)).toMatchObject({ isBlocked: false });
      for (let i = 0; i < 2; i += 1) await request('b', options);
      await request('a', { ...options, name: 'other' });
      await pass(100_000);
    }
    expect(await request('a', { ...options, name: 'third' })).toMatchObject({ totalHits: 1 });
    expect(await request('a', { ...options, limit: 1 })).toMatchObject({ isBlocked: true });
    expect(await request('a', { ...options, name: 'third' })).toMatchObject({ totalHits: 2 });
  });

  it('lets exactly as many in as the limit says when all come at once', async () => {
    const request = await opened();
    const all = await Promise.all(Array.from({ length: 60 }, () => request('a', { limit: 25 })));
    expect(all.filter((record) => record?.isBlocked === false)).toHaveLength(25);
  });

  it('keeps one small key for a visitor, which ends by itself, and nothing that he has sent', async () => {
    const { locks } = open({ keyPrefix: 'shop:' });
    await locks.increment('10.0.0.1 {x}', 60_000, 3, 90_000, 'default');
    for (let i = 0; i < 20; i += 1) {
      await locks.increment('10.0.0.1 {x}', 60_000, 3, 90_000, 'default');
    }
    const [key = '', ...others] = await keys();
    expect(others).toEqual([]);
    expect(key).toMatch(/^nestjs_throttle:\{shop:[\w-]{43}\}$/);
    expect(await redis.admin.zcard(key)).toBe(5);
    expect(await redis.admin.memory('USAGE', key)).toBeLessThan(400);
    const ttl = await redis.admin.pttl(key);
    expect(ttl).toBeGreaterThan(60_000);
    expect(ttl).toBeLessThanOrEqual(90_000);
  });

  it('needs the rights that the docs name, and all of them', async () => {
    const [, rules = ''] =
      /`(\+[^`]* ~nestjs_throttle:[^`]*)`/.exec(pageOf('docs/security.md')) ?? [];
    const all = rules.split(/\s+/);
    const rightsOf = (missing?: string) => [
      ...['reset', 'on', '>pass', '+eval', '+evalsha', '+info'],
      ...all.filter((rule) => rule !== missing),
    ];
    const connection = redis.url.replace('//', '//visitor:pass@');
    const asVisitor = async () => {
      const { locks } = open({ connection, keyPrefix: 'app:' });
      const refused = (error: unknown) => (error as LockBackendError).retryable;
      await eventually(
        async () => (await locks.increment('a', 9e5, 1, 9e5, 'x').catch(refused)) !== true,
      );
      await locks.increment('a', 9e5, 1, 9e5, 'x');
      await pass(9e5 - 9e4);
      for (const key of await keys()) await redis.admin.zadd(key, 1, 'block');
      return locks.increment('a', 9e5, 1, 9e5, 'x');
    };
    await redis.admin.acl('SETUSER', 'visitor', ...rightsOf());
    await redis.admin.acl('LOG', 'RESET');
    expect(await asVisitor()).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await redis.admin.acl('LOG')).toEqual([]);
    for (const missing of all) {
      await redis.admin.flushall();
      await redis.admin.acl('SETUSER', 'visitor', ...rightsOf(missing));
      const error: unknown = await asVisitor().catch((reason: unknown) => reason);
      expect([missing, error]).toEqual([missing, expect.any(LockBackendError)]);
    }
    await redis.admin.acl('DELUSER', 'visitor');
  });

  it('counts a request once that ioredis has sent twice', async () => {
    const { locks } = open({ connection: proxy.current.url });
    await locks.increment('a', 60_000, 3, 60_000, 'default');
    const fault = proxy.current.loseReply({ containing: HIT.sha1, times: 1 });
    expect(await locks.increment('a', 60_000, 3, 60_000, 'default')).toMatchObject({
      totalHits: 2,
    });
    expect(fault.hits).toBe(1);
  });

  it('refuses numbers that make no sense, before anything is sent', async () => {
    const { locks } = open();
    const refused = async (ttl: unknown, limit: unknown, block: unknown) => {
      const call = locks.increment('a', ttl as number, limit as number, block as number, 'x');
      await expect(call).rejects.toThrow(LockArgumentError);
    };
    const coerced = ['5', 'x', true, [5], 5n, null, undefined, { valueOf: () => 5 }, Symbol('5')];
    for (const ttl of [0, -1, NaN, Infinity, 4e10, ...coerced]) await refused(ttl, 1, 1);
    for (const limit of [-1, 1.5, NaN, Infinity, ...coerced]) await refused(1, limit, 1);
    for (const block of [NaN, Infinity, 4e10, ...coerced]) await refused(1, 1, block);
    expect(await keys()).toEqual([]);
  });

  it('refuses what is no text for a key or a name: all such visitors would share one', async () => {
    const { locks } = open();
    for (const odd of [undefined, null, 5, 5n, ['a'], {}, () => 'a', Symbol('a')] as never[]) {
      await expect(locks.increment(odd, 1, 1, 1, 'x')).rejects.toThrow(LockArgumentError);
      await expect(locks.increment('a', 1, 1, 1, odd)).rejects.toThrow(LockArgumentError);
    }
    expect(await keys()).toEqual([]);
  });

  it('is not refused for a ttl that is no whole number of milliseconds', async () => {
    const request = await opened();
    const options = { ttl: 1.1 * 1_000, block: -5 };
    expect(await request('a', options)).toMatchObject({ totalHits: 1, timeToExpire: 2 });
  });

  it('lets no request in while Redis cannot be asked, unless told to', async () => {
    const { locks, context } = open({ connection: proxy.current.url });
    await locks.increment('a', 60_000, 0, 0, 'default');
    const lenient = new RedisThrottlerStorage(context, 'allow');
    proxy.current.blackhole();
    const asking = [locks, lenient].map((one) => one.increment('a', 1_500, 0, 0, 'default'));
    await expect(asking[0]).rejects.toThrow(LockBackendError);
    const letIn = { totalHits: 0, isBlocked: false, timeToExpire: 2, timeToBlockExpire: 0 };
    expect(await asking[1]).toEqual(letIn);
    await expect(lenient.increment('a', 0, 0, 0, 'default')).rejects.toThrow(LockArgumentError);
    await proxy.current.heal();
    proxy.current.cut();
    await eventually(async () => {
      expect(await lenient.increment('a', 60_000, 0, 0, 'x')).toMatchObject({ isBlocked: true });
    });
  });

  it('counts a request that has to wait for the connection, at the start as after a cut', async () => {
    const { locks } = open({ connection: proxy.current.url });
    const request = () => locks.increment('a', 60_000, 9, 0, 'default');
    expect(await request()).toMatchObject({ totalHits: 1 });
    proxy.current.cut();
    expect(await request()).toMatchObject({ totalHits: 2 });
  });

  it('is made for one request, whatever became of those before', async () => {
    const request = await opened();
    await hits(request, 5);
    await redis.admin.del(...(await keys()));
    expect(await request()).toMatchObject({ totalHits: 1, isBlocked: false });
  });
});

describe('the script of a request', () => {
  const KEY = 'hits';
  const step = (request: string, changes: Partial<Record<string, string | number>> = {}) =>
    deliver(redis.admin, HIT, [KEY], {
      ...{ request, ttlMs: 60_000, limit: 2, blockMs: 60_000, ...changes },
    });
  const members = () => redis.admin.zrange(KEY, 0, '-1', 'WITHSCORES');

  /** Delivers it again: state and answer stay, but for the time. */
  const twice = async (...args: Parameters<typeof step>) => {
    const first = await step(...args);
    const before = await members();
    const { totalHits, isBlocked } = first;
    expect(await step(...args)).toMatchObject({ totalHits, isBlocked });
    expect(await members()).toEqual(before);
    return first;
  };

  it.each([60_000, 0])('may be delivered twice, with a block of %i ms', async (blockMs) => {
    const answers = [];
    for (const request of ['a', 'b', 'c', 'd']) answers.push(await twice(request, { blockMs }));
    expect(answers.map(({ isBlocked }) => isBlocked)).toEqual([false, false, true, true]);
    expect(await twice('a', { blockMs })).toMatchObject({ isBlocked: false });
    await pass(60_000);
    expect(await twice('e', { blockMs })).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await redis.admin.pttl(KEY)).toBeGreaterThan(50_000);
  });

  it('lets the key last as long as the last hit, when ttl changes', async () => {
    await step('a', { ttlMs: 90_000 });
    await step('b', { ttlMs: 1_000 });
    expect(await redis.admin.pttl(KEY)).toBeGreaterThan(80_000);
  });

  it.each(['ttlMs', 'limit', 'blockMs'])('refuses what is no number for %s', async (arg) => {
    for (const value of NO_NUMBERS) await expect(step('a', { [arg]: value })).rejects.toThrow(arg);
    expect(await keys()).toEqual([]);
  });
});

describe('RedisThrottlerModule', () => {
  it.each<[object, string]>([
    [{ conection: 'cache' }, 'unknown option "conection"'],
    [null as never, 'the options must be a plain object, not null'],
    [{ connection: '' }, 'name must consist of'],
    [{ onBackendError: 'open' }, "onBackendError must be 'reject' or 'allow', not \"open\""],
  ])('refuses %p', (options, message) => {
    const forRoot = () => RedisThrottlerModule.forRoot(options);
    expect(forRoot).toThrow(LockConfigurationError);
    expect(forRoot).toThrow(message);
  });
});

describe('ThrottlerGuard in two processes', () => {
  const workers = useWorkers();
  const file = new URL('throttled.worker.ts', import.meta.url);
  const random = seededRandom('throttler');

  it('finds the answers of throttler itself in the same course of requests', async () => {
    const worker = await workers.start<Api>(file);
    const storages = [open().locks, open().locks];
    for (const storage of storages) await storage.increment('x', 1, 1, 1, 'x');
    for (let course = 0; course < 8; course += 1) {
      await redis.admin.flushall();
      const visits = visitsOf(random, 30);
      const theirs = await worker.call.answersOfTheirs(visits);
      for (const [i, { afterMs, ttl, limit, block }] of visits.entries()) {
        if (afterMs > 0) await pass(afterMs);
        const ours = await storages[i % 2]?.increment('visitor', ttl, limit, block, 'default');
        const { isBlocked, totalHits, timeToExpire, timeToBlockExpire } = theirs[i] ?? NEVER;
        expect(ours).toEqual({
          isBlocked,
          // No caller reads the number of hits during a block, and theirs shrinks.
          totalHits: isBlocked ? expect.any(Number) : totalHits,
          timeToExpire: about(timeToExpire),
          // A block that is over has no time left.
          timeToBlockExpire: isBlocked ? about(timeToBlockExpire) : 0,
        });
      }
    }
  });

  it('lets three requests of a visitor in every 10 s, and answers 429 to the fourth', async () => {
    const herd = await Promise.all([workers.start<Api>(file), workers.start<Api>(file)]);
    const urls = await Promise.all(herd.map((worker) => worker.call.start(redis.url)));
    let requests = 0;
    const get = async (path: string) => {
      const { status, headers } = await fetch(`${urls[requests++ % 2] ?? ''}${path}`);
      const [remaining, retryAfter] = ['x-ratelimit-remaining', 'retry-after'];
      return [status, headers.get(remaining), headers.get(retryAfter)];
    };
    expect([await get('/buy'), await get('/buy'), await get('/buy')]).toEqual([
      [200, '2', null],
      [200, '1', null],
      [200, '0', null],
    ]);
    expect(await get('/buy')).toEqual([429, null, '10']);
    expect(await get('/look')).toEqual([200, '0', null]);
    await pass(10_000);
    expect(await get('/buy')).toEqual([200, '2', null]);
    expect(await get('/look')).toEqual([429, null, '60']);
    redis.pause();
    expect((await get('/buy'))[0]).toBe(503);
    redis.resume();
    await Promise.all(herd.map((worker) => worker.call.close()));
    const ends = await Promise.all(herd.map((worker) => worker.end()));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  });
});
