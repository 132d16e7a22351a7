import { afterEach, describe, expect, it } from '@jest/globals';
import { deliver, deliveries, NO_NUMBERS } from '../../../../../test/support/deliver.js';
import { secondsOf, secondsUntil, serverNow } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { fairKeysOf } from '../../../../../test/support/redisson-fair.js';
import { INSPECT, RENEW } from '../lua/hash-lock.js';
import type { Script } from '../../core/redis/script.js';
import { ACQUIRE, RELEASE, PASS, CANCEL } from './fair-lock.scripts.js';

const [A = '', B = '', C = '', D = ''] = [1, 2, 3, 4].map(
  (n) => `c0ffee00-0000-4000-8000-00000000000${String(n)}:${String(n)}`,
);
const CHANNEL = 'redisson_lock__channel:{k}';
const WAIT_MS = 60_000;
const { queue, timeouts, waiting } = fairKeysOf('k');
const KEYS = ['k', queue, timeouts, waiting];
const nonceOf = (owner: string) => owner.slice(-1).repeat(32);
const termsOf = (owner: string, mode = 's') => `${nonceOf(owner)} 4000 ${mode}`;

type Values = Readonly<Record<string, string | number>>;

describe('the scripts of the fair lock hand it on', () => {
  const redis = useRedis();
  const ears: { disconnect(): void }[] = [];
  afterEach(() => {
    for (const ear of ears.splice(0)) ear.disconnect();
  });

  const run = <R>(script: Script<string, string, R>, args: Values, by = redis.admin) =>
    deliver(by, script, [...KEYS, 'token'].slice(0, script.keys.length), args);
  const enterArgs = {
    ...{ leaseMs: 30_000, waitMs: WAIT_MS, aliveMs: 5_000, askedAt: 77 },
    ...{ terms: '', channelPrefix: CHANNEL, tokenTtlMs: 1_000_000 },
  };
  const enter = (owner: string, terms = '', args: Partial<typeof enterArgs> = {}) =>
    run(ACQUIRE, { ...enterArgs, ...args, owner, terms });
  const leave = (owner: string) => run(RELEASE, { owner, channelPrefix: CHANNEL });
  const passArgs = { leaseMs: 20_000, starts: 1, channelPrefix: CHANNEL };
  const pass = (owner: string, successor: string, args: Partial<typeof passArgs> = {}) =>
    run(PASS, { ...passArgs, ...args, owner, successor });
  const cancel = (owner: string) => run(CANCEL, { owner, waitMs: WAIT_MS, channelPrefix: CHANNEL });

  /** The messages that these owners get from now on. */
  const hearing = async (...owners: string[]) => {
    const heard: string[] = [];
    const ear = redis.admin.duplicate();
    ears.push(ear);
    ear.on('message', (channel: string, payload: string) => {
      heard.push(`${channel.slice(-1)}: ${payload}`);
    });
    await ear.subscribe(...owners.map((owner) => `${CHANNEL}:${owner}`));
    return async () => {
      await ear.ping();
      return heard;
    };
  };
  const look = async () => {
    const { admin } = redis;
    const now = await serverNow(admin);
    const owners = await admin.lrange(queue, 0, -1);
    const scores = await Promise.all(owners.map((owner) => admin.zscore(timeouts, owner)));
    return {
      lock: await admin.hgetall('k'),
      leaseS: await secondsOf(admin, 'k'),
      queue: owners,
      scores: scores.map((score) => secondsUntil(Number(score ?? NaN), now)),
      waiting: (await admin.hkeys(waiting)).filter((name) => name.includes(':')).sort(),
    };
  };
  const held = (owner: string, count = 1, leaseS = 4) => ({
    lock: { [owner]: String(count) },
    leaseS,
  });
  const NO_WAITER = { queue: [], scores: [], waiting: [] };
  /** A holds the lock; the others wait behind it, the first with these terms. */
  const queued = async (terms: string, ...owners: string[]) => {
    await enter(A);
    for (const [i, owner] of owners.entries()) {
      await enter(owner, i === 0 ? terms : termsOf(owner));
    }
  };

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('leave makes the head the owner for its claim, and tells it with its nonce', async () => {
      const heard = await hearing(B, C);
      await queued(termsOf(B), B, C);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect(await look()).toEqual({ ...held(B), queue: [C], scores: [90], waiting: [C] });
      expect(await heard()).toEqual([`2: 2 ${nonceOf(B)} 77`]);
    });

    it('leave gives it with the hold count 0 to one that enters by itself, once', async () => {
      await hearing(B);
      await queued(termsOf(B, 'e'), B);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect(await look()).toEqual({ ...held(B, 0), ...NO_WAITER });
      const granted = (await repeatedly(() => run(ACQUIRE.fenced, { ...enterArgs, owner: B }))) as {
        fencingToken: number;
      };
      expect(String(granted.fencingToken)).toBe(await redis.admin.get('token'));
      expect(await look()).toEqual({ ...held(B, 1, 30), ...NO_WAITER });
    });

    it('leave tells one that has not said that it is told only that it is free', async () => {
      const heard = await hearing(B, C);
      await queued('', B, C);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect(await look()).toMatchObject({ lock: {}, queue: [B, C], scores: [90, 150] });
      expect(await heard()).toEqual(['2: 0']);
    });

    it('leave passes over a waiter that hears nothing, and keeps its place', async () => {
      const heard = await hearing(D);
      await queued(termsOf(B), B, C, D);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect(await look()).toEqual({
        ...held(D),
        ...{ queue: [B, C], scores: [90, 150], waiting: [B, C] },
      });
      expect(await heard()).toEqual([`4: 4 ${nonceOf(D)} 77`]);
    });

    it.each([
      [31, { [D]: '1' }],
      [32, {}],
    ])('leave passes over 31 that hear nothing, and no more: %d', async (dead, lock) => {
      await hearing(D);
      const process = A.split(':')[0] ?? '';
      const deaf = Array.from({ length: dead }, (_, i) => `${process}:${String(i + 10)}`);
      await queued(termsOf(B), ...deaf, D);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect((await look()).lock).toEqual(lock);
    });

    it('leave passes over no waiter to a Java thread, or before it', async () => {
      const heard = await hearing(C, D);
      await queued(termsOf(B), B, C, D);
      await redis.admin.hdel(waiting, C);
      expect(await repeatedly(() => leave(A), 'absent')).toBe('done');
      expect(await look()).toMatchObject({ lock: {}, queue: [B, C, D] });
      expect(await heard()).toEqual([]);
    });

    it.each([
      ['its claim', 'shorter', () => leave(A), 'absent', ['3: 0']],
      ['its own lease', 'shorter', () => pass(A, B), 'had', ['3: 0']],
      ['its own lease', 'not shorter', () => pass(A, B, { leaseMs: 60_000 }), 'had', []],
    ])(
      'a Java thread behind one with %s that is %s is told so',
      async (_, __, give, after, told) => {
        const heard = await hearing(B, C);
        await queued(termsOf(B), B, C, D);
        await redis.admin.hdel(waiting, C);
        await repeatedly<string | undefined>(give, after);
        expect(await redis.admin.hkeys('k')).toEqual([B]);
        expect((await heard()).filter((message) => message.startsWith('3'))).toEqual(told);
      },
    );

    it('pass gives it to the successor with its own lease, whether it is told or not', async () => {
      await queued('', B, C);
      expect(await repeatedly(() => pass(A, B), 'had')).toBe('passed');
      expect(await look()).toEqual({ ...held(B, 1, 20), queue: [C], scores: [90], waiting: [C] });
      expect(await repeatedly(() => pass(B, C, { starts: 0 }), 'had')).toBe('passed');
      expect(await look()).toEqual({ ...held(C, 0, 20), ...NO_WAITER });
    });

    it('pass gives it to the waiter that is next, and not to a successor behind', async () => {
      const heard = await hearing(B);
      await queued(termsOf(B), B, C);
      expect(await repeatedly(() => pass(A, C), 'absent')).toBe('done');
      expect(await look()).toMatchObject({ ...held(B), queue: [C] });
      expect(await heard()).toEqual([`2: 2 ${nonceOf(B)} 77`]);
    });

    it('pass gives it to no successor that has left the queue', async () => {
      await enter(A);
      expect(await repeatedly(() => pass(A, B), 'absent')).toBe('yielded');
      expect(await look()).toMatchObject({ lock: {}, ...NO_WAITER });
      expect(await repeatedly(() => pass(C, B))).toBe('absent');
    });

    it('cancel hands over what was granted, entered or not', async () => {
      await hearing(B, C);
      await queued(termsOf(B, 'e'), B, C);
      await leave(A);
      expect(await repeatedly(() => cancel(B))).toBe('done');
      expect(await look()).toEqual({ ...held(C), ...NO_WAITER });
    });

    it('cancel of the head hands over what is free', async () => {
      await hearing(C);
      await queued('', B, C);
      await leave(A);
      expect(await repeatedly(() => cancel(B))).toBe('done');
      expect(await look()).toEqual({ ...held(C), ...NO_WAITER });
    });
  });

  it('is seen with the hold count 0, renewed and released as with any other', async () => {
    await hearing(B);
    await queued(termsOf(B, 'e'), B);
    await leave(A);
    const { value } = { value: await deliver(redis.admin, INSPECT, ['k'], {}) };
    expect(value).toMatchObject({ holders: [{ owner: B, holdCount: 0 }] });
    expect(await redis.admin.eval(RENEW.lua, 1, 'k', B, 10_000)).toEqual([1]);
    expect((await look()).leaseS).toBe(10);
    expect(await leave(B)).toBe('done');
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it('is given to no waiter that may no longer wait where a node counts for itself only', async () => {
    const [first, second] = [`${A}1`, `${A}2`];
    await enter(D);
    for (const owner of [first, second]) await enter(owner, termsOf(owner));
    await enter(A, termsOf(A));
    await redis.admin.del('k');
    const { lua } = ACQUIRE.inMode.broadcast();
    const answer = await run({ ...ACQUIRE, lua }, { ...enterArgs, owner: A, terms: termsOf(A) });
    expect(answer).toMatchObject({ kind: 'busy', siblings: [first, second] });
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it('takes the newest ask for what is said, and an old record for one that is not told', async () => {
    await hearing(B);
    await queued(termsOf(B), B);
    await enter(B);
    expect(await redis.admin.hget(waiting, B)).toMatch(/^\d+ \d+$/);
    await leave(A);
    expect(await look()).toMatchObject({ lock: {}, queue: [B] });
    await enter(A);
    expect(await enter(B)).toMatchObject({ kind: 'granted' });
  });

  describe('scores', () => {
    const many = Array.from({ length: 30 }, (_, i) => `c0ffee00-0000-4000-8000-0000000000ff:${i}`);
    const scores = () => redis.admin.zrange(timeouts, '0', '-1', 'WITHSCORES');
    const less = (rows: string[], ms: number) =>
      rows.map((value, i) => (i % 2 === 0 ? value : String(Number(value) - ms)));

    it('of all behind are shifted by just its own part', async () => {
      await enter(A);
      for (const owner of many) await enter(owner);
      // Without a record before them, the waiters behind get their scores at once.
      await redis.admin.hdel(waiting, many[1] ?? '');
      const before = await scores();
      const ttl = await redis.admin.pttl(timeouts);
      expect(await pass(A, many[0] ?? '')).toBe('passed');
      expect(await scores()).toEqual(less(before.slice(2), WAIT_MS));
      expect(await redis.admin.pttl(timeouts)).toBeGreaterThan(ttl - 5_000);
      expect((await redis.admin.keys('*')).sort()).toEqual([...KEYS].sort());
    });

    it('of one that has a score and no place are left alone', async () => {
      await enter(A);
      for (const owner of many) await enter(owner);
      // Without a record before them, the waiters behind get their scores at once.
      await redis.admin.hdel(waiting, many[1] ?? '');
      await redis.admin.zadd(timeouts, 7, 'stray');
      expect(await pass(A, many[0] ?? '')).toBe('passed');
      expect((await scores()).slice(0, 2)).toEqual(['stray', '7']);
    });

    it('are made for no waiter, and left alone where the queue does not know them', async () => {
      await enter(A);
      for (const owner of many) await enter(owner);
      // Without a record before them, the waiters behind get their scores at once.
      await redis.admin.hdel(waiting, many[1] ?? '');
      const [first = '', second = '', third = ''] = many;
      await redis.admin.zrem(timeouts, third);
      await redis.admin.zadd(timeouts, 7, 'stray');
      const before = await scores();
      expect(await pass(A, first)).toBe('passed');
      const after = await scores();
      expect(after.slice(0, 2)).toEqual(['stray', '7']);
      expect(after.slice(2)).toEqual(less(before.slice(4), WAIT_MS));
      expect(after).not.toContain(third);
      expect(after).toContain(second);
    });
  });

  describe('with something in the way', () => {
    it.each([
      ['may not publish', 'publish', 'unannounced'],
      ['may not expire keys', 'pexpire', 'done'],
    ])('frees it for all when the user %s', async (_, right, answer) => {
      await hearing(B);
      await queued(termsOf(B), B, C);
      expect(await redis.without([right], () => leave(A))).toBe(answer);
      expect(await look()).toMatchObject({ lock: {}, queue: [B, C] });
    });

    it('hands it on with a full memory', async () => {
      await hearing(B);
      await queued(termsOf(B), B, C);
      await redis.admin.config('SET', 'maxmemory', 1);
      expect(await leave(A)).toBe('done');
      await redis.admin.config('SET', 'maxmemory', 0);
      expect(await look()).toMatchObject({ ...held(B), queue: [C] });
    });
  });

  describe('arguments', () => {
    it.each([
      ...['x', 'ab 100', 'ab 100 p', 'ab 0 s', 'ab 1.5 s', 'ab -1 s', ' ab 100 s', 'xyz 100 s'],
      ...['ab 100 s ', 'ab 1000000000000000 s', 'ab\n100 s', '1 2 3 4'],
    ])('terms %p are refused before the first write', async (terms) => {
      await enter(A);
      await enter(B);
      const before = await redis.changes();
      await expect(enter(B, terms)).rejects.toThrow('LOCKARG');
      await expect(enter(C, terms)).rejects.toThrow('LOCKARG');
      expect(await redis.changes()).toBe(before);
    });

    it.each(['leaseMs', 'starts'])('pass: %s', async (name) => {
      await queued('', B);
      const before = await redis.changes();
      for (const bad of [...NO_NUMBERS, ...(name === 'leaseMs' ? ['0'] : [])]) {
        const args = { ...passArgs, owner: A, successor: B, [name]: bad };
        await expect(run(PASS, args)).rejects.toThrow('LOCKARG');
      }
      expect(await redis.changes()).toBe(before);
    });
  });
});
