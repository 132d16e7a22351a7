import { describe, expect, it } from '@jest/globals';
import { deliver, deliveries } from '../../../../../test/support/deliver.js';
import { timed, secondsOf } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { ACQUIRE, ACQUIRE_NESTED, INSPECT, RELEASE, RELEASE_SOME, RENEW } from './hash-lock.js';
import type { Script } from '../../core/redis/script.js';

const A = 'c0ffee00-0000-4000-8000-000000000001:1';
const B = 'c0ffee00-0000-4000-8000-000000000002:1';
const CHANNEL = 'redisson_lock__channel:{k}';
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

describe('the scripts of a lock that is a hash', () => {
  const redis = useRedis();

  const run = <K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: Readonly<Record<A, string | number>> | readonly (string | number)[],
  ) => deliver(redis.admin, script, keys, args);
  const enter = (owner: string, holdCount = 1, leaseMs = 30_000) =>
    holdCount === 1
      ? run(ACQUIRE, ['k'], { owner, leaseMs })
      : run(ACQUIRE_NESTED, ['k'], { owner, holdCount, leaseMs });
  const enterFenced = (owner: string, holdCount = 1, leaseMs = 30_000) =>
    holdCount === 1
      ? run(ACQUIRE.fenced, ['k', 't'], { owner, leaseMs, tokenTtlMs: WEEK_MS })
      : run(ACQUIRE_NESTED.fenced, ['k', 't'], { owner, holdCount, leaseMs, tokenTtlMs: WEEK_MS });
  const leave = (owner: string, holdCount: number) =>
    holdCount === 0
      ? run(RELEASE, ['k'], { owner, channel: CHANNEL })
      : run(RELEASE_SOME, ['k'], { owner, holdCount });

  const look = async () => {
    const seen: Record<string, unknown> = {};
    for (const key of (await redis.admin.keys('*')).sort()) {
      const isHash = (await redis.admin.type(key)) === 'hash';
      const value = isHash ? await redis.admin.hgetall(key) : await redis.admin.get(key);
      seen[key] = { value, seconds: await secondsOf(redis.admin, key) };
    }
    return seen;
  };
  const granted = { kind: 'granted', fencingToken: undefined };

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('enter takes a free lock once', async () => {
      expect(await repeatedly(() => enter(A))).toEqual(granted);
      expect(await look()).toEqual({ k: { value: { [A]: '1' }, seconds: 30 } });
    });

    it('enter goes to the count it names, up or down', async () => {
      await enter(A);
      expect(await repeatedly(() => enter(A, 2))).toEqual(granted);
      expect(await look()).toEqual({ k: { value: { [A]: '2' }, seconds: 30 } });
      await redis.admin.hset('k', A, 7);
      expect(await repeatedly(() => enter(A, 3))).toEqual(granted);
      expect(await look()).toEqual({ k: { value: { [A]: '3' }, seconds: 30 } });
    });

    it('enter never shortens the lease, and prolongs it when more is asked for', async () => {
      await enter(A, 1, 30_000);
      await repeatedly(() => enter(A, 2, 5_000));
      expect(await look()).toEqual({ k: { value: { [A]: '2' }, seconds: 30 } });
      await repeatedly(() => enter(A, 3, 60_000));
      expect(await look()).toEqual({ k: { value: { [A]: '3' }, seconds: 60 } });
      await enter(A, 1, 90_000);
      await repeatedly(() => enter(A, 1, 5_000));
      expect(await look()).toEqual({ k: { value: { [A]: '1' }, seconds: 90 } });
    });

    it('enter answers what is left of the lease of another owner, and changes nothing', async () => {
      await enter(B, 1, 10_000);
      const answer = await run(ACQUIRE, ['k'], { owner: A, leaseMs: 30_000 });
      expect(answer).toMatchObject({ kind: 'busy' });
      for (let time = 0; time < times; time += 1) {
        expect(await enter(A)).toMatchObject({ kind: 'busy' });
        expect(await look()).toEqual({ k: { value: { [B]: '1' }, seconds: 10 } });
      }
    });

    it('enter never creates a nested hold: an absent owner has lost it', async () => {
      expect(await repeatedly(() => enter(A, 2))).toEqual({ kind: 'lost' });
      expect(await look()).toEqual({});
      await enter(B);
      expect(await repeatedly(() => enter(A, 2))).toEqual({ kind: 'lost' });
      expect(await look()).toEqual({ k: { value: { [B]: '1' }, seconds: 30 } });
    });

    it('enter-fenced hands out one token for one hold', async () => {
      const { fencingToken } = (await repeatedly(() => enterFenced(A))) as {
        fencingToken: number;
      };
      expect(await look()).toEqual({
        k: { value: { [A]: '1' }, seconds: 30 },
        t: { value: String(fencingToken), seconds: WEEK_MS / 1_000 },
      });
      const nested = (await repeatedly(() => enterFenced(A, 2))) as { fencingToken: number };
      expect(nested.fencingToken).toBeGreaterThan(fencingToken);
    });

    it('enter-fenced takes no token when it is refused', async () => {
      await enter(B);
      for (let time = 0; time < times; time += 1) {
        expect(await enterFenced(A)).toMatchObject({ kind: 'busy' });
        expect(await enterFenced(A, 2)).toEqual({ kind: 'lost' });
      }
      expect(await redis.admin.exists('t')).toBe(0);
    });

    it('leave goes down to the count it names, without a message', async () => {
      await enter(A);
      await enter(A, 2);
      await enter(A, 3);
      const published = await redis.commandsDuring(async () => {
        expect(await repeatedly(() => leave(A, 2))).toBe('done');
        expect(await look()).toEqual({ k: { value: { [A]: '2' }, seconds: 30 } });
        expect(await repeatedly(() => leave(A, 1))).toBe('done');
        expect(await look()).toEqual({ k: { value: { [A]: '1' }, seconds: 30 } });
      });
      expect(published.publish).toBeUndefined();
    });

    it('leave never counts up', async () => {
      await enter(A);
      expect(await repeatedly(() => leave(A, 3))).toBe('done');
      expect(await look()).toEqual({ k: { value: { [A]: '1' }, seconds: 30 } });
    });

    it('leave to 0 frees the lock once, and says so once', async () => {
      await enter(A);
      await redis.resetCommandStats();
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await leave(A, 0));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual({});
      expect(await redis.commandStats()).toMatchObject({ publish: 1, del: 1 });
    });

    it('leave never touches the lock of another owner', async () => {
      await enter(B);
      await redis.resetCommandStats();
      expect(await repeatedly(() => leave(A, 0))).toBe('absent');
      expect(await repeatedly(() => leave(A, 1))).toBe('absent');
      expect(await look()).toEqual({ k: { value: { [B]: '1' }, seconds: 30 } });
      expect((await redis.commandStats()).publish).toBeUndefined();
    });

    it('renew prolongs what its owner holds, and answers for each key', async () => {
      await enter(A, 1, 10_000);
      await redis.admin.hset('others', B, 1);
      await timed(redis.admin, () => redis.admin.pexpire('others', 10_000));
      await redis.admin.set('string', 'x');
      const keys = ['k', 'others', 'string', 'absent'];
      const owners = keys.map(() => A);
      const answers = await repeatedly(() => run(RENEW, keys, [...owners, 20_000]));
      expect(answers).toEqual([true, false, false, false]);
      expect(await look()).toEqual({
        k: { value: { [A]: '1' }, seconds: 20 },
        others: { value: { [B]: '1' }, seconds: 10 },
        string: { value: 'x', seconds: -0 },
      });
    });

    it('renew gives each key its own lease, and makes none shorter', async () => {
      for (const key of ['k', 'l', 'm']) {
        await run(ACQUIRE, [key], { owner: A, leaseMs: 20_000 });
      }
      const args = [A, A, A, 30_000, 40_000, 10_000];
      const answers = await repeatedly(() => run(RENEW, ['k', 'l', 'm'], args));
      expect(answers).toEqual([true, true, true]);
      const seconds = (key: string) => secondsOf(redis.admin, key);
      expect(await Promise.all(['k', 'l', 'm'].map(seconds))).toEqual([30, 40, 20]);
    });

    it('inspect shows owner and lease, and changes nothing', async () => {
      expect(await repeatedly(() => run(INSPECT, ['k'], {}))).toEqual({
        remainingMs: 0,
        holders: [],
      });
      await redis.admin.hset('k', B, 1);
      expect(await repeatedly(() => run(INSPECT, ['k'], {}))).toEqual({
        remainingMs: Infinity,
        holders: [{ owner: B, holdCount: 1 }],
      });
    });
  });

  it('a release that is delivered after the next grant leaves that alone', async () => {
    await enter(A);
    await leave(A, 0);
    await enter(B);
    expect(await leave(A, 0)).toBe('absent');
    expect(await look()).toEqual({ k: { value: { [B]: '1' }, seconds: 30 } });
  });

  it('renew answers for 250 keys at once', async () => {
    const keys = Array.from({ length: 250 }, (_, i) => `k${String(i)}`);
    for (const key of keys) await run(ACQUIRE, [key], { owner: A, leaseMs: 20_000 });
    const answers = await run(RENEW, keys, [...keys.map(() => A), 60_000]);
    expect(answers).toEqual(keys.map(() => true));
    expect(await redis.admin.pttl('k249')).toBeGreaterThan(50_000);
  });

  describe('arguments', () => {
    const BAD = [
      ...['NaN', '1.5', '-1', '1e3', '', ' 100', '100 ', '0x10', 'nan', 'inf', '-inf', 'Infinity'],
      ...[
        '9223372036854775807',
        '1'.repeat(400),
        '1000000000000000',
        '１００',
        '1\n',
        'abc',
        '1,5',
      ],
    ];
    const scripts: [string, (bad: string) => Promise<unknown>][] = [
      ['enter: lease', (bad) => run(ACQUIRE, ['k'], { owner: A, leaseMs: bad })],
      [
        'nested: lease',
        (bad) => run(ACQUIRE_NESTED, ['k'], { owner: A, holdCount: 2, leaseMs: bad }),
      ],
      [
        'nested: hold count',
        (bad) => run(ACQUIRE_NESTED, ['k'], { owner: A, holdCount: bad, leaseMs: 1_000 }),
      ],
      [
        'enter-fenced: lease',
        (bad) =>
          run(ACQUIRE.fenced, ['k', 't'], {
            owner: A,
            leaseMs: bad,
            tokenTtlMs: 1_000,
          }),
      ],
      [
        'nested-fenced: hold count',
        (bad) =>
          run(ACQUIRE_NESTED.fenced, ['k', 't'], {
            owner: A,
            holdCount: bad,
            leaseMs: 500,
            tokenTtlMs: 1_000,
          }),
      ],
      [
        'enter-fenced: TTL of the token',
        (bad) =>
          run(ACQUIRE.fenced, ['k', 't'], {
            owner: A,
            leaseMs: 500,
            tokenTtlMs: bad,
          }),
      ],
      ['leave: hold count', (bad) => run(RELEASE_SOME, ['k'], { owner: A, holdCount: bad })],
      ['renew: lease', (bad) => run(RENEW, ['k'], [A, bad])],
      ['renew: a later lease', (bad) => run(RENEW, ['k', 'l'], [A, A, 60_000, bad])],
      ['renew: the lease of all', (bad) => run(RENEW, ['k', 'l'], [A, A, bad])],
      ['renew: a lease', () => run(RENEW, ['k', 'l'], [A, A])],
    ];

    it.each(scripts)('%s is refused before the first write', async (_, call) => {
      for (const bad of BAD) {
        await expect(call(bad)).rejects.toThrow('LOCKARG');
        expect(await look()).toEqual({});
      }
      await enter(A, 1, 30_000);
      await redis.admin.hset('k', A, 2);
      const before = await redis.changes();
      for (const bad of BAD) await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await redis.changes()).toBe(before);
    });

    it.each([
      ['enter: lease', () => run(ACQUIRE, ['k'], { owner: A, leaseMs: 0 })],
      [
        'nested: hold count',
        () => run(ACQUIRE_NESTED, ['k'], { owner: A, holdCount: 0, leaseMs: 1_000 }),
      ],
      ['leave: hold count', () => run(RELEASE_SOME, ['k'], { owner: A, holdCount: 0 })],
      ['renew: lease', () => run(RENEW, ['k'], [A, 0])],
    ])('%s of 0 is refused: it would free what it promises to hold', async (_, call) => {
      await expect(call()).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual({});
      await enter(A);
      const before = await redis.changes();
      await expect(call()).rejects.toThrow('LOCKARG');
      expect(await redis.changes()).toBe(before);
    });
  });

  it.each([
    [ACQUIRE, [2, '1', 'x', '1795226423156991', [], ['x'], null, undefined, {}, [1.5, null]]],
    [ACQUIRE.fenced, [1, 2, 'x', '', '0', '9007199254740993', [], ['x'], null, undefined]],
    [RELEASE, [0, 2, 'other', null, []]],
    [RENEW, [1, 'x', null, [null]]],
    [INSPECT, [1, 'x', [], ['x'], [1, 'x'], null]],
  ] as [Script<string, string, unknown>, unknown[]][])(
    '$name takes no answer it does not know for a success',
    (script, replies) => {
      for (const reply of replies) {
        expect(() => script.decode(reply)).toThrow('makes no sense');
      }
    },
  );
});
