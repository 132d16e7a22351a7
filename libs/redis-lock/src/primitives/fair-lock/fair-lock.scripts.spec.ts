import { describe, expect, it } from '@jest/globals';
import { deliver, deliveries } from '../../../../../test/support/deliver.js';
import { secondsOf, secondsUntil, serverNow } from '../../../../../test/support/moments.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { fairKeysOf } from '../../../../../test/support/redisson-fair.js';
import type { Script } from '../../core/redis/script.js';
import { ACQUIRE_NESTED, RELEASE_SOME } from '../lua/hash-lock.js';
import { ACQUIRE, RELEASE, CANCEL } from './fair-lock.scripts.js';

const [A, B, C, D] = [1, 2, 3, 4].map((n) => `c0ffee00-0000-4000-8000-00000000000${String(n)}:1`);
const CHANNEL = 'redisson_lock__channel:{k}';
const WAIT_MS = 60_000;
const LEASE_MS = 30_000;
const HALF_DAY_S = 12 * 60 * 60;
const { queue, timeouts, waiting } = fairKeysOf('k');
const KEYS = ['k', queue, timeouts, waiting];

type Values = Readonly<Record<string, string | number>>;

describe('the scripts of the fair lock', () => {
  const redis = useRedis();

  const run = <R>(script: Script<string, string, R>, args: Values) =>
    deliver(redis.admin, script, [...KEYS, 'token'].slice(0, script.keys.length), args);
  const entering = {
    ...{ leaseMs: LEASE_MS, waitMs: WAIT_MS, aliveMs: 5_000, askedAt: 0 },
    ...{ terms: '', channelPrefix: CHANNEL, tokenTtlMs: 1_000_000 },
  };
  const enter = (owner = '', options: Partial<typeof entering> = {}) =>
    run(ACQUIRE, { ...entering, owner, ...options });
  const enterFenced = (owner = '', options: Partial<typeof entering> = {}) =>
    run(ACQUIRE.fenced, { ...entering, owner, ...options });
  const nest = (owner = '', holdCount: number, leaseMs = LEASE_MS) =>
    run(ACQUIRE_NESTED, { owner, holdCount, leaseMs });
  const leave = (owner = '', holdCount = 0) =>
    holdCount === 0
      ? run(RELEASE, { owner, channelPrefix: CHANNEL })
      : run(RELEASE_SOME, { owner, holdCount });
  const cancel = (owner = '', waitMs = WAIT_MS) =>
    run(CANCEL, { owner, waitMs, channelPrefix: CHANNEL });

  /** Times as seconds from now on. */
  const look = async () => {
    const { admin } = redis;
    const now = await serverNow(admin);
    const scores: Record<string, number> = {};
    const members = await admin.zrange(timeouts, '0', '-1', 'WITHSCORES');
    for (let i = 0; i < members.length; i += 2) {
      scores[members[i] ?? ''] = secondsUntil(Number(members[i + 1]), now);
    }
    return {
      lock: await admin.hgetall('k'),
      leaseS: await secondsOf(admin, 'k'),
      queue: await admin.lrange(queue, 0, -1),
      scores,
      waiting: (await admin.hkeys(waiting)).filter((name) => name.includes(':')).sort(),
    };
  };
  const EMPTY = { lock: {}, leaseS: -0, queue: [], scores: {}, waiting: [] };
  const granted = { kind: 'granted', fencingToken: undefined };
  const busy = { kind: 'busy' };
  /** The messages of the step. Only the waiter concerned gets them. */
  const published = async (step: () => Promise<unknown>) => {
    const counts = await redis.commandsDuring(step);
    return counts.publish ?? 0;
  };

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('enter takes a free lock once, and leaves no queue', async () => {
      expect(await repeatedly(() => enter(A))).toEqual(granted);
      expect(await look()).toEqual({ ...EMPTY, lock: { [`${A}`]: '1' }, leaseS: 30 });
    });

    it('enter puts a waiter into the queue once, with the score of Redisson', async () => {
      await enter(A);
      expect(await repeatedly(() => enter(B))).toMatchObject(busy);
      expect(await repeatedly(() => enter(C, { waitMs: 5_000 }))).toMatchObject(busy);
      expect(await look()).toEqual({
        ...{ lock: { [`${A}`]: '1' }, leaseS: 30, queue: [B, C], waiting: [B, C] },
        scores: { [`${B}`]: 90, [`${C}`]: 95 },
      });
    });

    it('enter leaves no trace of one attempt, which is refused while a caller waits', async () => {
      await enter(A);
      expect(await repeatedly(() => enter(B, { waitMs: 0 }))).toMatchObject(busy);
      expect((await look()).queue).toEqual([]);
      await enter(B);
      await leave(A);
      expect(await repeatedly(() => enter(C, { waitMs: 0 }))).toMatchObject(busy);
      expect(await repeatedly(() => enter(C))).toMatchObject(busy);
      expect(await look()).toMatchObject({ lock: {}, queue: [B, C] });
    });

    it('enter takes the lock from the head of the queue, and its time from all behind', async () => {
      await enter(A);
      await enter(B);
      await enter(C, { waitMs: 5_000 });
      await enter(D, { waitMs: 7_000 });
      await leave(A);
      expect(await repeatedly(() => enter(B))).toEqual(granted);
      expect(await look()).toEqual({
        ...{ lock: { [`${B}`]: '1' }, leaseS: 30, queue: [C, D], waiting: [C, D] },
        scores: { [`${C}`]: 35, [`${D}`]: 42 },
      });
    });

    it('enter goes to the count it names, and never shortens the lease', async () => {
      await enter(A);
      await enter(B);
      expect(await repeatedly(() => nest(A, 2, 5_000))).toEqual(granted);
      expect(await look()).toMatchObject({ lock: { [`${A}`]: '2' }, leaseS: 30, queue: [B] });
      expect(await repeatedly(() => nest(A, 3, 90_000))).toEqual(granted);
      expect(await look()).toMatchObject({ lock: { [`${A}`]: '3' }, leaseS: 90, queue: [B] });
    });

    it('enter gives a new score to a head from whose lost score Redisson has taken time', async () => {
      for (const owner of [A, B, C]) await enter(owner);
      await redis.admin.zadd(timeouts, -20, `${B}`);
      expect(await repeatedly(() => enter(B))).toMatchObject(busy);
      expect((await look()).scores).toEqual({ [`${B}`]: 90, [`${C}`]: 210 });
    });

    it('enter never creates a nested hold: an absent owner has lost it', async () => {
      expect(await repeatedly(() => nest(A, 2))).toEqual({ kind: 'lost' });
      expect(await look()).toEqual(EMPTY);
      await enter(B);
      expect(await repeatedly(() => nest(A, 2))).toEqual({ kind: 'lost' });
      expect((await look()).queue).toEqual([]);
    });

    it('enter-fenced hands out one token for one hold, and none to an owner that is refused', async () => {
      const first = await repeatedly(() => enterFenced(A));
      const token = await redis.admin.get('token');
      expect(first).toEqual({ kind: 'granted', fencingToken: Number(token) });
      expect(await repeatedly(() => enterFenced(B))).toMatchObject(busy);
      expect(await redis.admin.get('token')).toBe(token);
      await leave(A);
      const { fencingToken } = (await repeatedly(() => enterFenced(B))) as { fencingToken: number };
      expect(fencingToken).toBeGreaterThan(Number(token));
      expect(await look()).toEqual({ ...EMPTY, lock: { [`${B}`]: '1' }, leaseS: 30 });
    });

    it('leave goes down to the count it names, notifies no waiter, and never counts up', async () => {
      await enter(A);
      await nest(A, 3);
      await enter(B);
      const messages = await published(async () => {
        expect(await repeatedly(() => leave(A, 2))).toBe('done');
        expect((await look()).lock).toEqual({ [`${A}`]: '2' });
        expect(await repeatedly(() => leave(A, 3))).toBe('done');
        expect((await look()).lock).toEqual({ [`${A}`]: '2' });
      });
      expect(messages).toBe(0);
    });

    it('leave to 0 frees the lock once, and tells the head once', async () => {
      await enter(A);
      await enter(B);
      const messages = await published(async () => {
        const answers = [];
        for (let time = 0; time < times; time += 1) answers.push(await leave(A));
        expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      });
      expect(messages).toBe(1);
      expect(await look()).toMatchObject({ lock: {}, queue: [B] });
    });

    it('leave by a stranger changes nothing and notifies no waiter', async () => {
      await enter(A);
      await enter(B);
      const before = await look();
      const messages = await published(async () => {
        expect(await repeatedly(() => leave(B))).toBe('absent');
        expect(await repeatedly(() => leave(C, 1))).toBe('absent');
      });
      expect(messages).toBe(0);
      expect(await look()).toEqual(before);
    });

    it('cancel takes a waiter away, and its time from those behind it alone', async () => {
      await enter(A);
      await enter(B);
      await enter(C, { waitMs: 5_000 });
      await enter(D, { waitMs: 7_000 });
      const messages = await published(() => repeatedly(() => cancel(C, 5_000)));
      expect(messages).toBe(0);
      expect(await look()).toMatchObject({
        ...{ lock: { [`${A}`]: '1' }, queue: [B, D], waiting: [B, D] },
        scores: { [`${B}`]: 90, [`${D}`]: 97 },
      });
    });

    it('the record of a process counts its waiters, and goes with the last of them', async () => {
      const counts = async () => {
        const records = Object.entries(await redis.admin.hgetall(waiting));
        return records
          .filter(([name]) => !name.includes(':'))
          .map(([, text]) => text.split(' ')[1]);
      };
      await enter(A);
      for (const owner of ['p:1', 'p:2', 'q:1']) await repeatedly(() => enter(owner));
      expect(await counts()).toEqual(['2', '1']);
      await repeatedly(() => cancel('p:1'));
      expect(await counts()).toEqual(['1', '1']);
      await repeatedly(() => cancel('q:1'));
      expect(await counts()).toEqual(['1']);
      await leave(A);
      expect(await repeatedly(() => enter('p:2'))).toEqual(granted);
      expect(await look()).toMatchObject({ lock: { 'p:2': '1' }, queue: [] });
      expect(await redis.admin.exists(waiting)).toBe(0);
    });

    it('cancel releases what was granted, and notifies the next one', async () => {
      await enter(A);
      await enter(B);
      expect(await published(() => repeatedly(() => cancel(A)))).toBe(1);
      expect(await look()).toMatchObject({ lock: {}, queue: [B] });
    });

    it('cancel of the head tells the next one that the lock is free', async () => {
      await enter(A);
      await enter(B);
      await enter(C);
      await leave(A);
      expect(await published(() => repeatedly(() => cancel(B)))).toBe(1);
      expect(await look()).toMatchObject({ lock: {}, queue: [C] });
    });

    it('cancel of an owner that is not there changes nothing', async () => {
      await enter(A);
      await enter(B);
      const before = await look();
      expect(await published(() => repeatedly(() => cancel(C)))).toBe(0);
      expect(await look()).toEqual(before);
    });
  });

  it('gives every key of the queue a TTL beyond the last score, in the step that creates it', async () => {
    await enter(A);
    for (const owner of [B, C]) await enter(owner, { waitMs: 86_400_000 });
    for (const key of [queue, timeouts, waiting]) {
      expect(await redis.admin.ttl(key)).toBeGreaterThan(2 * 86_400 + HALF_DAY_S);
    }
    for (const owner of [B, C]) await cancel(owner);
    expect(await redis.admin.keys('*')).toEqual(['k']);
  });

  it('gives a queue of Java its TTL as soon as one of ours is in it', async () => {
    await enter(A);
    await redis.admin.rpush(queue, C ?? '');
    await redis.admin.zadd(timeouts, (await serverNow(redis.admin)) + 90_000, C ?? '');
    expect(await redis.admin.ttl(queue)).toBe(-1);
    await enter(B);
    for (const key of [queue, timeouts]) {
      expect(await redis.admin.ttl(key)).toBeGreaterThan(HALF_DAY_S);
    }
  });

  it('leaves no queue behind for a user who may not expire keys', async () => {
    await enter(A);
    await redis.without(['pexpire'], () => expect(enter(B)).rejects.toThrow(/permission|can't/i));
    expect(await redis.admin.keys('*')).toEqual(['k']);
  });

  it('frees the lock with a full memory, dead waiters in the queue or not', async () => {
    await enter(A);
    await enter(B);
    await enter(C);
    await redis.admin.hset(waiting, B?.split(':')[0] ?? '', '1 1 0 5000');
    await redis.admin.config('SET', 'maxmemory', 1);
    expect(await leave(A)).toBe('done');
    await cancel(C);
    await redis.admin.config('SET', 'maxmemory', 0);
    expect(await look()).toEqual(EMPTY);
  });

  it('frees the lock also when the queue cannot be read', async () => {
    await enter(A);
    await redis.admin.set(queue, 'something else');
    expect(await leave(A)).toBe('unannounced');
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it('frees the lock of a user who may not publish, and says so', async () => {
    await enter(A);
    await enter(B);
    expect(await redis.without(['publish'], () => leave(A))).toBe('unannounced');
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it('names the siblings of a waiter also when the list and the scores have lost their step', async () => {
    const sibling = B?.replace(/1$/, '2');
    await enter(A);
    await enter(B);
    await enter(sibling);
    await redis.admin.zadd(timeouts, (await serverNow(redis.admin)) + 90_000, C ?? '');
    await redis.admin.del('k');
    expect(await enter(sibling)).toMatchObject({ kind: 'busy', siblings: [B] });
  });

  it('takes 100 of the dead away per script, and answers when to ask again', async () => {
    await enter(A);
    const dead = Array.from({ length: 250 }, (_, i) => `dead:${String(i)}`);
    for (const owner of dead) await enter(owner);
    await redis.admin.hset(waiting, 'dead', '1 250 0 5000');
    await leave(A);
    expect(await redis.admin.llen(queue)).toBe(150);
    // The script never answers 0, but the caller asks again as soon as it may.
    expect(await enter(B)).toEqual({ kind: 'busy', remainingMs: 1, isNew: true });
    expect(await redis.admin.llen(queue)).toBe(51);
    expect(await enter(B)).toEqual(granted);
    expect(await look()).toEqual({ ...EMPTY, lock: { [`${B}`]: '1' }, leaseS: 30 });
  });

  describe('arguments', () => {
    const BAD = [
      ...['NaN', '1.5', '-1', '1e3', '', ' 100', '100 ', '0x10', 'nan', 'inf', 'Infinity'],
      ...['9223372036854775807', '1'.repeat(400), '1000000000000000', '１００', '1\n', '1,5'],
    ];
    const numbers = ['leaseMs', 'waitMs', 'aliveMs', 'askedAt'];
    const scripts: [string, (bad: string) => Promise<unknown>][] = [
      ...numbers.map((name): [string, (bad: string) => Promise<unknown>] => [
        `enter: ${name}`,
        (bad) => run(ACQUIRE, { ...entering, owner: C ?? '', [name]: bad }),
      ]),
      ...[...numbers, 'tokenTtlMs'].map((name): [string, (bad: string) => Promise<unknown>] => [
        `enter-fenced: ${name}`,
        (bad) => run(ACQUIRE.fenced, { ...entering, owner: C ?? '', [name]: bad }),
      ]),
      ['cancel', (bad) => run(CANCEL, { owner: B ?? '', waitMs: bad, channelPrefix: CHANNEL })],
    ];

    it.each(scripts)('%s is refused before the first write', async (_, call) => {
      await enter(A);
      await enter(B, { aliveMs: 1 });
      const before = await redis.changes();
      for (const bad of BAD) await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await redis.changes()).toBe(before);
    });

    it.each(['leaseMs', 'aliveMs'] as const)('%s of 0 is refused', async (name) => {
      await expect(enter(A, { [name]: 0 })).rejects.toThrow('LOCKARG');
      await expect(enterFenced(A, { [name]: 0 })).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual(EMPTY);
    });
  });

  it.each([
    [ACQUIRE, [2, '1', 'x', '1795226423156991', [], ['x'], null, undefined, {}, [1.5, null]]],
    [ACQUIRE.fenced, [1, 2, 'x', '', '0', '9007199254740993', [], ['x'], null, undefined]],
    [RELEASE, [0, 2, 'other', null, []]],
    [CANCEL, [0, 2, 'other', null, []]],
  ] as [Script<string, string, unknown>, unknown[]][])(
    '$name takes no answer it does not know for a success',
    (script, replies) => {
      for (const reply of replies) {
        expect(() => script.decode(reply)).toThrow('makes no sense');
      }
    },
  );
});
