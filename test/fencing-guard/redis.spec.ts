import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockArgumentError,
  LockKeyError,
  LockService,
} from 'nestjs-redis-lock/core';
import {
  GUARDED_WRITE,
  MOST_ARGUMENTS,
} from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.scripts.js';
import { FencingGuard } from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { expectCosts } from '../support/costs.js';
import { deliver, NO_NUMBERS } from '../support/deliver.js';
import { useLocks, useProxy, useRealRedis } from '../support/set-up.js';

type GuardedCommand = Parameters<FencingGuard['write']>[2];

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const LARGEST = Number.MAX_SAFE_INTEGER;

describe('FencingGuard in Redis', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => ({
    locks: new LockService(context),
    guard: new FencingGuard(context),
  }));
  const overtaken = { name: 'LeaseLostError', code: 'LEASE_LOST', reason: 'overtaken' };

  it('writes for the newest holder as often as he likes, and refuses those before', async () => {
    const { guard } = open().locks;
    await guard.write(7, 'stock', 'set', 3);
    await guard.write(7, 'stock', 'set', 2);
    await guard.write(9, 'stock', 'set', 1);
    const writing = guard.write(8, 'stock', 'set', 99);
    await expect(writing).rejects.toThrow(LeaseLostError);
    await expect(writing).rejects.toMatchObject({
      ...overtaken,
      lockName: 'stock',
      message: 'Write to "stock" refused: a newer holder has written there',
    });
    await guard.write(9, 'stock', 'set', 0);
    expect(await redis.admin.get('stock')).toBe('0');
  });

  it('takes the tokens of leases', async () => {
    const { locks, guard } = open().locks;
    const first = await locks.acquire('product_1', { fenced: true });
    await guard.write(first.fencingToken, 'stock', 'hset', 'left', 5, 'by', 'first');
    // The lease of the first is over, and he has not noticed.
    await redis.admin.del('product_1');
    const second = await locks.acquire('product_1', { fenced: true });
    await guard.write(second.fencingToken, 'stock', 'hset', 'left', 4, 'by', 'second');
    const late = guard.write(first.fencingToken, 'stock', 'hset', 'left', 9, 'by', 'first');
    await expect(late).rejects.toMatchObject(overtaken);
    expect(await redis.admin.hgetall('stock')).toEqual({ left: '4', by: 'second' });
    await second.release();
    await first.release().catch(() => undefined);
  });

  it('notes the newest token beside the key, in its slot, for a week', async () => {
    const { guard } = open().locks;
    await guard.write(LARGEST, 'stock', 'sadd', 'x');
    await guard.write(1, '{shop}:stock', 'sadd', 'x');
    expect((await redis.admin.keys('*')).toSorted()).toEqual([
      ...['nestjs_fence:{shop}:stock', 'nestjs_fence:{stock}', 'stock', '{shop}:stock'],
    ]);
    expect(await redis.admin.get('nestjs_fence:{stock}')).toBe('9007199254740991');
    const ttl = await redis.admin.pttl('nestjs_fence:{stock}');
    expect(ttl).toBeGreaterThan(WEEK_MS - 60_000);
    expect(ttl).toBeLessThanOrEqual(WEEK_MS);
    await expect(guard.write(LARGEST - 1, 'stock', 'del')).rejects.toMatchObject(overtaken);
    expect(await redis.admin.exists('stock')).toBe(1);
  });

  it('runs each of its commands, and puts no prefix before the key', async () => {
    const { guard } = open({ keyPrefix: 'shop:' }).locks;
    await guard.write(1, 's', 'set', 'value', 'px', 60_000);
    await guard.write(1, 'h', 'hset', 'a', 1, 'b', 2);
    await guard.write(1, 'h', 'hdel', 'a');
    await guard.write(1, 'm', 'sadd', 'x', 'y');
    await guard.write(1, 'm', 'srem', 'x');
    expect(await redis.admin.pttl('s')).toBeGreaterThan(50_000);
    expect(await redis.admin.hgetall('h')).toEqual({ b: '2' });
    expect(await redis.admin.smembers('m')).toEqual(['y']);
    await guard.write(1, 's', 'del');
    expect(await redis.admin.exists('s')).toBe(0);
  });

  it('costs what its page says', async () => {
    const { guard } = open().locks;
    await expectCosts(redis, 'internals/fencing.md', [
      ['a guarded write', () => guard.write(7, 'stock', 'hset', 'left', 1)],
      [
        'a write that comes too late',
        () => guard.write(6, 'stock', 'hset', 'left', 2).catch(String),
      ],
    ]);
  });

  it('says when the newest token is none', async () => {
    const { guard } = open().locks;
    await redis.admin.set('nestjs_fence:{odd}', 'abc', 'PX', 60_000);
    await expect(guard.write(1, 'odd', 'set', 1)).rejects.toMatchObject({ code: 'LOCK_STATE' });
  });

  describe('a write that Redis refuses overtakes no writer', () => {
    const FENCE = 'nestjs_fence:{stock}';
    const rights = ['reset', 'on', '>pass', '+eval', '+evalsha', '+info', '+get', '+set', '~*'];
    const refusals: [string, () => Promise<unknown>, string | undefined, object][] = [
      [
        'for the type of the key',
        () => redis.admin.rpush('stock', 'x'),
        undefined,
        { code: 'LOCK_STATE', lockName: 'stock' },
      ],
      [
        'for a right that the user lacks',
        () => redis.admin.acl('SETUSER', 'writer', ...rights),
        'writer:pass',
        { code: 'LOCK_BACKEND', lockName: 'stock', retryable: false },
      ],
    ];

    it.each(refusals)('%s', async (_, refuse, user = '', error) => {
      await refuse();
      const { guard } = open({ connection: redis.url.replace('//', `//${user}@`) }).locks;
      await expect(guard.write(9, 'stock', 'hset', 'left', 1)).rejects.toMatchObject(error);
      expect(await redis.admin.exists(FENCE)).toBe(0);
      await redis.admin.set(FENCE, '5', 'PX', 60_000);
      await expect(guard.write(9, 'stock', 'hset', 'left', 1)).rejects.toMatchObject(error);
      expect(await redis.admin.get(FENCE)).toBe('5');
      expect(await redis.admin.pttl(FENCE)).toBeGreaterThan(0);
      await redis.admin.del('stock');
      await open().locks.guard.write(7, 'stock', 'hset', 'left', 2);
      expect(await redis.admin.hgetall('stock')).toEqual({ left: '2' });
      await redis.admin.acl('DELUSER', 'writer');
    });

    it('for its memory', async () => {
      const { guard } = open().locks;
      await guard.write(5, 'stock', 'hset', 'left', 1);
      await redis.admin.config('SET', 'maxmemory', '1');
      const full = { code: 'LOCK_BACKEND', message: expect.stringContaining('memory') };
      await expect(guard.write(9, 'stock', 'hset', 'left', 0)).rejects.toMatchObject(full);
      await expect(guard.write(9, 'stock', 'del')).rejects.toMatchObject(full);
      await redis.admin.config('SET', 'maxmemory', '0');
      expect(await redis.admin.get(FENCE)).toBe('5');
      await guard.write(7, 'stock', 'hset', 'left', 2);
    });

    it.each([1, 2, 3])('also when it is delivered %d times', async (times) => {
      await redis.admin.rpush('k', 'x');
      const write = (token: string) =>
        deliver(redis.admin, GUARDED_WRITE, ['k', 'f'], [token, 60_000, 'hset', 'left', token]);
      for (let i = 0; i < times; i += 1) await expect(write('9')).rejects.toThrow('WRONGTYPE');
      expect(await redis.admin.exists('f')).toBe(0);
      await redis.admin.set('f', '5', 'PX', 60_000);
      for (let i = 0; i < times; i += 1) await expect(write('9')).rejects.toThrow('WRONGTYPE');
      expect(await redis.admin.get('f')).toBe('5');
    });
  });

  describe('a write whose condition is not met', () => {
    const FENCE = 'nestjs_fence:{stock}';
    const unmet: [string, string | undefined][] = [
      ['nx', 'first'],
      ['xx', undefined],
    ];

    it.each(unmet)('with %s, says so and overtakes no writer', async (condition, value) => {
      const { guard } = open().locks;
      if (value !== undefined) await redis.admin.set('stock', value);
      expect(await guard.write(9, 'stock', 'set', 'mine', condition)).toBe(false);
      expect(await redis.admin.exists(FENCE)).toBe(0);
      await redis.admin.set(FENCE, '5', 'PX', 60_000);
      expect(await guard.write(9, 'stock', 'set', 'mine', condition)).toBe(false);
      expect(await redis.admin.get(FENCE)).toBe('5');
      expect(await redis.admin.pttl(FENCE)).toBeGreaterThan(0);
      expect(await redis.admin.get('stock')).toBe(value ?? null);
      expect(await guard.write(7, 'stock', 'set', 'theirs')).toBe(true);
    });

    it.each(unmet)('with %s, is still overtaken by a newer holder', async (condition, value) => {
      const { guard } = open().locks;
      if (value !== undefined) await redis.admin.set('stock', value);
      await redis.admin.set(FENCE, '10', 'PX', 60_000);
      const late = guard.write(9, 'stock', 'set', 'mine', condition);
      await expect(late).rejects.toMatchObject(overtaken);
    });

    it('has written when it finds what it has written itself', async () => {
      const { guard } = open({ connection: proxy.current.url }).locks;
      await guard.write(1, 'warm', 'set', 1);
      const fault = proxy.current.loseReply({ containing: GUARDED_WRITE.sha1, times: 1 });
      expect(await guard.write(5, 'stock', 'set', 'mine', 'nx')).toBe(true);
      expect(fault.hits).toBe(1);
      expect(await guard.write(5, 'stock', 'set', 'other', 'nx')).toBe(false);
      expect(await guard.write(6, 'stock', 'set', 'mine', 'nx')).toBe(false);
      expect(await redis.admin.get(FENCE)).toBe('5');
    });
  });

  it('moves the fence when it removes or adds what is so already', async () => {
    const { guard } = open().locks;
    await redis.admin.sadd('members', 'x');
    const writes: [string, GuardedCommand, ...string[]][] = [
      ['stock', 'del'],
      ['fields', 'hdel', 'left'],
      ['others', 'srem', 'x'],
      ['members', 'sadd', 'x'],
    ];
    for (const [key, command, ...args] of writes) {
      expect(await guard.write(9, key, command, ...args)).toBe(true);
      await expect(guard.write(8, key, command, ...args)).rejects.toMatchObject(overtaken);
    }
  });

  it('writes many values at a time', async () => {
    const { guard } = open().locks;
    const members = Array.from({ length: MOST_ARGUMENTS }, (_, i) => i);
    await guard.write(1, 'many', 'sadd', ...members);
    expect(await redis.admin.scard('many')).toBe(MOST_ARGUMENTS);
  });

  it('writes what is sent twice as if it were sent once', async () => {
    const { guard } = open({ connection: proxy.current.url }).locks;
    await guard.write(1, 'warm', 'set', 1);
    const fault = proxy.current.loseReply({ containing: GUARDED_WRITE.sha1, times: 1 });
    await guard.write(5, 'stock', 'hset', 'left', 4);
    expect(fault.hits).toBe(1);
    expect(await redis.admin.hgetall('stock')).toEqual({ left: '4' });
  });

  it.each([1, 2, 3])('has a script that may be delivered %d times', async (times) => {
    const write = (token: string) =>
      deliver(redis.admin, GUARDED_WRITE, ['k', 'f'], [token, 60_000, 'hset', 'left', token]);
    for (let i = 0; i < times; i += 1) expect(await write('9')).toBe('written');
    for (let i = 0; i < times; i += 1) expect(await write('8')).toBe('overtaken');
    expect(await redis.admin.hgetall('k')).toEqual({ left: '9' });
    expect(await redis.admin.get('f')).toBe('9');
  });

  it('has a script that refuses bad arguments before the first write', async () => {
    const tokens = [...NO_NUMBERS.filter((bad) => bad !== '1000000000000000'), '0', '01'];
    for (const bad of [...tokens, '9007199254740992']) {
      const writing = deliver(redis.admin, GUARDED_WRITE, ['k', 'f'], [bad, 60_000, 'set', 1]);
      await expect(writing).rejects.toThrow('LOCKARG');
    }
    for (const bad of NO_NUMBERS) {
      const writing = deliver(redis.admin, GUARDED_WRITE, ['k', 'f'], [1, bad, 'set', 1]);
      await expect(writing).rejects.toThrow('LOCKARG');
    }
    const tooMany = Array.from({ length: MOST_ARGUMENTS + 1 }, () => 'x');
    const writing = deliver(redis.admin, GUARDED_WRITE, ['k', 'f'], [1, 1, 'sadd', ...tooMany]);
    await expect(writing).rejects.toThrow('LOCKARG');
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  describe('before anything is sent', () => {
    const refuses = async (
      [token, key, command, ...args]: [unknown, unknown, unknown, ...unknown[]],
      error: new (...args: never[]) => Error,
    ) => {
      const { guard } = open().locks;
      await guard.write(1, 'ready', 'set', 1);
      const sent = await redis.commandsDuring(() =>
        expect(
          guard.write(
            token as number,
            key as string,
            command as GuardedCommand,
            ...(args as string[]),
          ),
        ).rejects.toThrow(error),
      );
      expect(sent).toEqual({});
    };

    it.each([undefined, null, 0, -1, 1.5, NaN, 2 ** 53, '7', 7n, {}])(
      'refuses %p as a token',
      (token) => refuses([token, 'stock', 'set', 1], LockArgumentError),
    );
    it.each([
      ['set'],
      undefined,
      'get',
      'incr',
      'toString',
      'SET',
      'eval',
      'flushall',
      'set; del',
      '',
      1,
      {},
    ])('refuses %p as a command', (command) => refuses([1, 'stock', command], LockArgumentError));
    it.each([undefined, null, NaN, Infinity, true, 7n, {}, ['v', 'px', 1], Buffer.from('v')])(
      'refuses %p as an argument',
      async (arg) => {
        await refuses([1, 'stock', 'set', arg], LockArgumentError);
        await refuses([1, 'stock', 'hset', 'left', arg], LockArgumentError);
      },
    );
    const malformed: [GuardedCommand, ...(string | number)[]][] = [
      ['set'],
      ...['get', 'ifeq', 'px 5', 'constructor', '', 5].map((odd) => ['set', 'v', odd] as const),
      ...['px', 'ex', 'exat', 'pxat'].flatMap((end) => [
        ['set', 'v', end] as const,
        ...['0', '-1', '1.5', 'x', '', '1e3', 1e16].map((time) => ['set', 'v', end, time] as const),
      ]),
      ['set', 'v', 'nx', 'xx'],
      ['set', 'v', 'px', 5, 'ex', 5],
      ['set', 'v', 'px', 5, 'keepttl'],
      // It looks at one key only.
      ['del', 'other'],
      ['hset'],
      ['hset', 'left'],
      ['hset', 'left', 1, 'by'],
      ['hdel'],
      ['sadd'],
      ['srem'],
      ['sadd', ...Array.from({ length: MOST_ARGUMENTS + 1 }, (_, i) => i)],
    ].map(([command = 'set', ...args]) => [command as GuardedCommand, ...args]);
    it('refuses arguments that make no sense', async () => {
      for (const [command, ...args] of malformed)
        await refuses([1, 'stock', command, ...args], LockArgumentError);
    });
    it('takes the options of set', async () => {
      const { guard } = open().locks;
      const options = [
        ['px', 60_000],
        ['NX', 'ex', '60'],
        ['keepttl', 'xx'],
        ['pxat', 4e12],
      ];
      for (const each of [...options, ['exat', 4e9]]) {
        await guard.write(1, 'stock', 'set', 'v', ...each);
      }
    });
    it.each([undefined, '', 'a{b', '{a}', 'a\nb', 1])('refuses %p as a key', (key) =>
      refuses([1, key, 'set', 1], LockKeyError),
    );
  });

  it('writes what a user has typed as it is', async () => {
    const { guard } = open().locks;
    const typed = "'] = 1 redis.call('flushall') --";
    await guard.write(1, 'stock', 'set', typed);
    expect(await redis.admin.get('stock')).toBe(typed);
  });
});
