import { describe, expect, it } from '@jest/globals';
import { secondsOf, serverNow } from '../../../../../test/support/moments.js';
import { deliver, deliveries } from '../../../../../test/support/deliver.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import type { Script } from '../../core/redis/script.js';
import { inOrder } from '../../../../../test/support/in-order.js';
import { queueKeys } from '../lua/hand-off.js';
import { ACQUIRE_NESTED, RELEASE_SOME, RENEW } from '../lua/hash-lock.js';
import {
  READ_ACQUIRE,
  READ_INSPECT,
  READ_RELEASE,
  READ_RENEW,
  READ_CANCEL,
} from './read-lock.scripts.js';
import { turnKeys } from './footprint.js';
import { LEASE_APART, READ_RENEW_APART } from './renew-apart.js';
import { WRITE_RELEASE, WRITE_CANCEL } from './write-release.scripts.js';
import { WRITE_ACQUIRE, WRITE_INSPECT } from './write-lock.scripts.js';

const CLIENT = '6f1b7c1e-52c4-4a0c-9d2f-0e6d1a4b8c3d';
const A = `${CLIENT}:1`;
const B = `${CLIENT}:2`;
const C = `${CLIENT}:3`;
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const channel = 'redisson_rwlock:{k}';
const keys = {
  ...{ lock: 'k', prefix: '{k}:', token: 't' },
  ...{ ...turnKeys('k'), ...queueKeys('k', 'rwlock') },
};
const { writers, writersTurn, readers, turn } = keys;
const hold = (owner: string, n: number) => `{k}:${owner}:rwlock_timeout:${n}`;
const granted = { kind: 'granted', fencingToken: undefined };
const busy = expect.objectContaining({ kind: 'busy' });

describe('the scripts of the read-write lock', () => {
  const redis = useRedis();

  const run = <K extends keyof typeof keys, A extends string, R>(
    script: Script<K, A, R>,
    args: Readonly<Record<string, string | number>>,
  ) => deliver(redis.admin, script, inOrder<string>(script.keys, keys), args);
  const read = (owner: string, more: Record<string, string | number> = {}) =>
    run(READ_ACQUIRE, {
      ...{ owner, holdCount: 1, leaseMs: 30_000, companion: '', memoryMs: 0, channel },
      ...more,
    });
  const write = (owner: string, more: Record<string, string | number> = {}) =>
    run(WRITE_ACQUIRE, { owner, leaseMs: 30_000, memoryMs: 0, channel, ...more });
  const nestWrite = (owner: string, holdCount: number, leaseMs = 30_000) =>
    run(ACQUIRE_NESTED, { owner: `${owner}:write`, holdCount, leaseMs });
  const endRead = (owner: string, holdCount = 0) =>
    run(READ_RELEASE, { owner, holdCount, channel });
  const endWrite = (owner: string, holdCount = 0) =>
    holdCount === 0
      ? run(WRITE_RELEASE, { owner, channel, due: 0 })
      : run(RELEASE_SOME, { owner: `${owner}:write`, holdCount });
  const cancel = (owner: string) => run(WRITE_CANCEL, { owner, channel, due: 0 });
  const renew = async (...pairs: [string, string | number][]) => {
    const names = pairs.flatMap(() => ['k', '{k}:']);
    return READ_RENEW.decode(
      await redis.admin.eval(READ_RENEW.lua, names.length, ...names, ...pairs.flat()),
    );
  };

  /** Leases in seconds. */
  const look = async () => {
    const seen: Record<string, unknown> = {};
    for (const key of (await redis.admin.keys('*')).sort()) {
      const type = await redis.admin.type(key);
      let value: unknown = null;
      if (type === 'hash') value = await redis.admin.hgetall(key);
      if (type === 'string') value = await redis.admin.get(key);
      if (type === 'zset') value = await redis.admin.zrange(key, '0', '-1');
      seen[key] = { value, seconds: await secondsOf(redis.admin, key) };
    }
    return seen;
  };
  const one = (seconds: number) => ({ value: '1', seconds });
  const held = (value: Record<string, string>, seconds = 30) => ({ value, seconds });

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    it('read-lock.acquire takes a free lock, or one that is read, once', async () => {
      expect(await repeatedly(() => read(A))).toEqual(granted);
      expect(await repeatedly(() => read(B, { leaseMs: 60_000 }))).toEqual(granted);
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '1', [B]: '1' }, 60),
        [hold(A, 1)]: one(30),
        [hold(B, 1)]: one(60),
      });
    });

    it('read-lock.acquire goes to the count it names, up or down, and shortens nothing', async () => {
      await read(A, { leaseMs: 20_000 });
      expect(await repeatedly(() => read(A, { holdCount: 2, leaseMs: 60_000 }))).toEqual(granted);
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '2' }, 60),
        [hold(A, 1)]: one(20),
        [hold(A, 2)]: one(60),
      });
      expect(await repeatedly(() => read(A, { leaseMs: 1_000 }))).toEqual(granted);
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '1' }, 60),
        [hold(A, 1)]: one(60),
      });
    });

    it('read-lock.renew-apart prolongs the lock alone, and names the leases, which follow', async () => {
      await read(A, { leaseMs: 20_000 });
      await read(A, { holdCount: 2, leaseMs: 20_000 });
      const alone = (owner: string, leaseMs: number) => run(READ_RENEW_APART, { owner, leaseMs });
      expect(await repeatedly(() => alone(A, 60_000))).toBe(2);
      expect(await repeatedly(() => alone(A, 1_000))).toBe(2);
      expect(await repeatedly(() => alone(B, 90_000))).toBe(0);
      const reads = { k: held({ mode: 'read', [A]: '2' }, 60), [hold(A, 1)]: one(20) };
      expect(await look()).toEqual({ ...reads, [hold(A, 2)]: one(20) });
      await redis.admin.persist(hold(A, 2));
      const follow = (lease: string, leaseMs: number) =>
        deliver(redis.admin, LEASE_APART, [lease], { leaseMs });
      expect(await repeatedly(() => follow(hold(A, 1), 40_000))).toBe(true);
      expect(await repeatedly(() => follow(hold(A, 1), 1_000))).toBe(true);
      // Any other lease ends: this one is of someone else.
      expect(await repeatedly(() => follow(hold(A, 2), 40_000))).toBe(false);
      expect(await repeatedly(() => follow(hold(B, 1), 40_000))).toBe(false);
      const seen = await look();
      expect(seen).toMatchObject({ ...reads, [hold(A, 1)]: one(40) });
      expect(seen).not.toHaveProperty([hold(B, 1)]);
    });

    it('neither enter creates a nested hold: an absent owner has lost it', async () => {
      expect(await repeatedly(() => read(A, { holdCount: 2 }))).toEqual({ kind: 'lost' });
      expect(await repeatedly(() => nestWrite(A, 2))).toEqual({ kind: 'lost' });
      expect(await look()).toEqual({});
      await read(B);
      expect(await repeatedly(() => read(A, { holdCount: 2 }))).toEqual({ kind: 'lost' });
      expect(await repeatedly(() => nestWrite(B, 2))).toEqual({ kind: 'lost' });
    });

    it('read-lock.acquire waits for a writer, and is remembered if it has time', async () => {
      await write(A);
      expect(await read(B)).toEqual(busy);
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${A}:write`]: '1' }) });
      for (let time = 0; time < times; time += 1) {
        expect(await read(B, { memoryMs: 3_000 })).toEqual(busy);
        expect(await look()).toEqual({
          k: held({ mode: 'write', [`${A}:write`]: '1' }),
          [readers]: { value: [B], seconds: 3 },
        });
      }
    });

    it('read-lock.acquire lets the companion of a writer in, and no other owner', async () => {
      await write(A);
      expect(await repeatedly(() => read(B, { companion: A }))).toEqual(granted);
      expect(await read(C, { companion: B })).toEqual(busy);
      expect(await look()).toEqual({
        k: held({ mode: 'write', [`${A}:write`]: '1', [B]: '1' }),
        [hold(B, 1)]: one(30),
      });
      await redis.resetCommandStats();
      expect(await endRead(B)).toBe('done');
      for (let again = 1; again < times; again += 1) expect(await endRead(B)).toBe('absent');
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${A}:write`]: '1' }) });
      expect((await redis.commandStats()).publish).toBeUndefined();
    });

    it('write-lock.acquire takes a free lock once, goes to its count, and adds no lease', async () => {
      expect(await repeatedly(() => write(A))).toEqual(granted);
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${A}:write`]: '1' }) });
      await repeatedly(() => nestWrite(A, 2, 60_000));
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${A}:write`]: '2' }, 60) });
      await repeatedly(() => nestWrite(A, 3, 1_000));
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${A}:write`]: '3' }, 60) });
    });

    it('write-lock.acquire-fenced hands out one token for one hold, and none when refused', async () => {
      const fenced = (owner: string, holdCount: number) =>
        holdCount === 1
          ? run(WRITE_ACQUIRE.fenced, {
              ...{ owner, leaseMs: 30_000, memoryMs: 0, channel, tokenTtlMs: WEEK_MS },
            })
          : run(ACQUIRE_NESTED.fenced, {
              ...{ owner: `${owner}:write`, holdCount, leaseMs: 30_000, tokenTtlMs: WEEK_MS },
            });
      const first = (await repeatedly(() => fenced(A, 1))) as { fencingToken: number };
      const nested = (await repeatedly(() => fenced(A, 2))) as { fencingToken: number };
      expect(nested.fencingToken).toBeGreaterThan(first.fencingToken);
      for (let time = 0; time < times; time += 1) expect(await fenced(B, 1)).toEqual(busy);
      expect(await redis.admin.get('t')).toBe(String(nested.fencingToken));
    });

    it('write-lock.acquire waits for readers, and marks that it does if it has time', async () => {
      await read(A, { leaseMs: 10_000 });
      expect(await write(B)).toEqual(busy);
      for (let time = 0; time < times; time += 1) {
        expect(await write(B, { memoryMs: 3_000 })).toEqual(busy);
        expect(await look()).toEqual({
          k: held({ mode: 'read', [A]: '1' }, 10),
          [hold(A, 1)]: one(10),
          [writers]: { value: [B], seconds: 3 },
          [writersTurn]: one(5),
        });
      }
      expect(await read(C)).toEqual(busy);
      expect(await read(A, { holdCount: 2 })).toEqual(granted);
      await endRead(A);
      expect(await repeatedly(() => write(B))).toEqual(granted);
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${B}:write`]: '1' }) });
    });

    it('write-lock.acquire passes readers that are dead, and forgets them', async () => {
      await read(A);
      await read(B);
      await redis.admin.del(hold(A, 1));
      expect(await repeatedly(() => write(C).then(({ kind }) => kind))).toBe('busy');
      expect(await redis.admin.hkeys('k')).toEqual(['mode', B]);
      await redis.admin.del(hold(B, 1));
      expect(await repeatedly(() => write(C))).toEqual(granted);
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${C}:write`]: '1' }) });
    });

    it('read-lock.release goes down to its count and keeps the longest lease', async () => {
      await read(A, { leaseMs: 20_000 });
      await read(A, { holdCount: 2, leaseMs: 60_000 });
      await read(A, { holdCount: 3, leaseMs: 40_000 });
      expect(await repeatedly(() => endRead(A, 1))).toBe('done');
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '1' }, 60),
        [hold(A, 1)]: one(60),
      });
      expect(await repeatedly(() => endRead(A, 2))).toBe('done');
      expect(await redis.admin.hget('k', A)).toBe('1');
    });

    it('read-lock.release to 0 leaves the lease of the longest other reader, and frees it last', async () => {
      await read(A, { leaseMs: 20_000 });
      await read(B, { leaseMs: 60_000 });
      await redis.resetCommandStats();
      expect(await endRead(B)).toBe('done');
      for (let again = 1; again < times; again += 1) expect(await endRead(B)).toBe('absent');
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '1' }, 20),
        [hold(A, 1)]: one(20),
      });
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await endRead(A));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual({});
      expect((await redis.commandStats()).publish).toBe(1);
    });

    it('read-lock.release sets right what Java has made shorter, however many read', async () => {
      for (let n = 10; n < 20; n += 1) await read(`${CLIENT}:${String(n)}`);
      await read(A, { leaseMs: 60_000 });
      await read(B);
      await redis.admin.pexpire('k', 10_000);
      expect(await endRead(B)).toBe('done');
      for (let again = 1; again < times; again += 1) expect(await endRead(B)).toBe('absent');
      expect(await secondsOf(redis.admin, 'k')).toBe(60);
    });

    it('neither release minds a field that is no holder', async () => {
      for (const [enter, end] of [[read, endRead] as const, [write, endWrite] as const]) {
        await enter(A);
        await redis.admin.hset('k', 'note', 'x', 'n', 1);
        await redis.resetCommandStats();
        expect(await end(A)).toBe('done');
        for (let again = 1; again < times; again += 1) expect(await end(A)).toBe('absent');
        expect(await look()).toEqual({});
        expect((await redis.commandStats()).publish).toBe(1);
      }
    });

    it('read-lock.release looks at no more readers than it has to, however many there are', async () => {
      const many = Array.from({ length: 20 }, (_, n) => `${CLIENT}:${String(n + 10)}`);
      const readFor = async (seconds: number, owners: readonly string[]) => {
        const leaseMs = seconds * 1_000;
        for (const owner of owners) await read(owner, { leaseMs });
        const end = (await serverNow(redis.admin)) + leaseMs;
        await redis.admin.pexpireat('k', end);
        for (const owner of owners) await redis.admin.pexpireat(hold(owner, 1), end);
      };
      const leave = async (owner: string) => {
        await redis.resetCommandStats();
        await endRead(owner);
        const { pttl } = await redis.commandStats();
        return { pttl, lock: (await look()).k };
      };
      await readFor(30, many);
      await readFor(60, [A, B]);
      const [one = '', two = ''] = many;
      const lasting = (seconds: number) => expect.objectContaining({ seconds });
      expect(await leave(one)).toEqual({ pttl: 3, lock: lasting(60) });
      expect(await leave(A)).toEqual({ pttl: 22, lock: lasting(60) });
      expect(await leave(B)).toEqual({ pttl: 21, lock: lasting(30) });
      expect(await leave(two)).toEqual({ pttl: 10, lock: lasting(30) });
    });

    it('read-lock.release leaves the lock no longer than its readers, however many there are', async () => {
      for (let n = 10; n < 20; n += 1) await read(`${CLIENT}:${String(n)}`);
      await read(A, { leaseMs: 31_000 });
      expect(await endRead(A)).toBe('done');
      expect(await redis.admin.pttl('k')).toBeLessThanOrEqual(30_000);
    });

    it('write-lock.release goes down to its count, and frees the lock once', async () => {
      await write(A);
      await nestWrite(A, 2);
      await redis.resetCommandStats();
      expect(await repeatedly(() => endWrite(A, 1))).toBe('done');
      expect((await redis.commandStats()).publish).toBeUndefined();
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await endWrite(A));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual({});
      expect((await redis.commandStats()).publish).toBe(1);
    });

    it('write-lock.release leaves the writer its reads, and gives those who wait a turn', async () => {
      await write(A, { leaseMs: 60_000 });
      await read(B, { companion: A, leaseMs: 10_000 });
      await write(C, { memoryMs: 3_000 });
      await read(`${CLIENT}:9`, { memoryMs: 3_000 });
      await endWrite(A);
      for (let again = 1; again < times; again += 1) expect(await endWrite(A)).toBe('absent');
      expect(await look()).toEqual({
        k: held({ mode: 'read', [B]: '1' }, 10),
        [hold(B, 1)]: one(10),
        [writers]: { value: [C], seconds: 3 },
        [writersTurn]: one(5),
        [turn]: { value: [`${CLIENT}:9`], seconds: 1 },
      });
      expect(await read(`${CLIENT}:8`)).toEqual(busy);
      expect(await repeatedly(() => read(`${CLIENT}:9`, { memoryMs: 3_000 }))).toEqual(granted);
      expect(await redis.admin.exists(turn)).toBe(0);
    });

    it('write-lock.acquire gives readers their turn whose writer has crashed', async () => {
      await write(A);
      await read(B, { memoryMs: 3_000 });
      await redis.admin.del('k');
      await redis.resetCommandStats();
      for (let time = 0; time < times; time += 1) {
        expect(await write(C, { memoryMs: 3_000 })).toEqual(busy);
        expect(await look()).toEqual({
          [writers]: { value: [C], seconds: 3 },
          [writersTurn]: one(5),
          [turn]: { value: [B], seconds: 1 },
        });
      }
      expect((await redis.commandStats()).publish).toBe(1);
      expect(await repeatedly(() => read(B))).toEqual(granted);
    });

    it('neither leave touches what another owner holds', async () => {
      await read(B);
      expect(await repeatedly(() => endRead(A))).toBe('absent');
      expect(await repeatedly(() => endWrite(B))).toBe('absent');
      await endRead(B);
      await write(B);
      expect(await repeatedly(() => endWrite(A))).toBe('absent');
      expect(await repeatedly(() => endRead(B))).toBe('absent');
      expect(await look()).toEqual({ k: held({ mode: 'write', [`${B}:write`]: '1' }) });
    });

    it('read-lock.cancel forgets who waited, and releases what was granted', async () => {
      await write(A);
      await read(B, { memoryMs: 3_000 });
      await run(READ_CANCEL, { owner: B, channel });
      expect(await repeatedly(() => run(READ_CANCEL, { owner: B, channel }))).toBe('absent');
      expect(await redis.admin.exists(readers, turn)).toBe(0);
      await endWrite(A);
      await read(B);
      expect(await run(READ_CANCEL, { owner: B, channel })).toBe('done');
      expect(await look()).toEqual({});
    });

    it('write-lock.cancel takes the mark away, and says so once', async () => {
      await read(A);
      await write(B, { memoryMs: 3_000 });
      await write(C, { memoryMs: 3_000 });
      await redis.resetCommandStats();
      await repeatedly(() => cancel(C));
      expect((await redis.commandStats()).publish).toBeUndefined();
      await repeatedly(() => cancel(B));
      expect((await redis.commandStats()).publish).toBe(1);
      expect(await redis.admin.exists(writers, writersTurn)).toBe(0);
    });

    it('read-lock.renew prolongs every hold of its reader, shortens none and creates nothing', async () => {
      await read(A, { leaseMs: 10_000 });
      await read(A, { holdCount: 2, leaseMs: 40_000 });
      await read(B, { leaseMs: 10_000 });
      await redis.admin.del(hold(B, 1));
      const other = `${CLIENT}:4`;
      await read(other, { leaseMs: 60_000 });
      const answers = await repeatedly(() => renew([A, 20_000], [B, 20_000], [C, 20_000]));
      expect(answers).toEqual([true, false, false]);
      expect(await look()).toEqual({
        k: held({ mode: 'read', [A]: '2', [B]: '1', [other]: '1' }, 60),
        [hold(A, 1)]: one(20),
        [hold(A, 2)]: one(40),
        [hold(other, 1)]: one(60),
      });
      await redis.admin.set('k', 'x');
      expect(await repeatedly(() => renew([A, 20_000]))).toEqual([false]);
    });

    it('inspect shows the holders of a side, and changes nothing', async () => {
      const free = { remainingMs: 0, holders: [] };
      const [seeRead, seeWrite] = [() => run(READ_INSPECT, {}), () => run(WRITE_INSPECT, {})];
      expect(await repeatedly(seeRead)).toEqual(free);
      expect(await repeatedly(seeWrite)).toEqual(free);
      await read(A);
      await read(B, { leaseMs: 10_000 });
      await read(C);
      await redis.admin.del(hold(C, 1));
      expect((await seeRead()).holders).toEqual(
        expect.arrayContaining([A, B].map((owner) => ({ owner, holdCount: 1 }))),
      );
      expect((await seeRead()).holders).toHaveLength(2);
      expect((await seeRead()).remainingMs).toBeGreaterThan(29_000);
      expect(await repeatedly(seeWrite)).toEqual(free);
      for (const owner of [A, B, C]) await endRead(owner);
      await write(A);
      await redis.admin.persist('k');
      expect(await repeatedly(seeWrite)).toEqual({
        remainingMs: Infinity,
        holders: [{ owner: A, holdCount: 1 }],
      });
      expect(await repeatedly(seeRead)).toEqual(free);
    });
  });

  it('a release that is delivered after the next grant leaves that alone', async () => {
    await write(A);
    await endWrite(A);
    await read(B);
    expect(await endWrite(A)).toBe('absent');
    await endRead(B);
    await write(C);
    expect(await endRead(B)).toBe('absent');
    expect(await look()).toEqual({ k: held({ mode: 'write', [`${C}:write`]: '1' }) });
  });

  it('a corrupt count does not stop Redis', async () => {
    await read(A);
    await redis.admin.hset('k', B, '999999999999', C, 'many');
    expect(await write(`${CLIENT}:4`)).toEqual(busy);
    expect(await redis.admin.hkeys('k')).toEqual(['mode', A]);
  });

  it.each([writers, readers, turn])(
    'no enter and no release that is done fails for %s of another type',
    async (key) => {
      await write(A);
      await redis.admin.rpush(key, 'x');
      expect(await endWrite(A)).toBe('done');
      for (const enter of [read, write]) {
        const isHeld = await enter(B).then(
          ({ kind }) => kind === 'granted',
          () => false,
        );
        expect(await redis.admin.exists('k')).toBe(isHeld ? 1 : 0);
        await redis.admin.del('k');
      }
    },
  );

  it('leaves and renews with 1,000 readers without looking at all of them each time', async () => {
    const owners = Array.from({ length: 1_000 }, (_, i) => `${CLIENT}:${i + 1}`);
    for (const [i, owner] of owners.entries()) await read(owner, { leaseMs: 30_000 + 100 * i });
    await redis.resetCommandStats();
    for (const owner of owners.slice(0, 100)) await endRead(owner);
    expect((await redis.commandStats()).pttl).toBeLessThan(10 * 100);
  });

  describe('when the memory of Redis is full', () => {
    it('everything can be released, also from writing to reading', async () => {
      await write(A);
      await read(B, { companion: A });
      await read(B, { holdCount: 2, companion: A });
      await write(C, { memoryMs: 3_000 });
      await redis.admin.config('SET', 'maxmemory', '1');
      try {
        await expect(read(`${CLIENT}:5`, { companion: A })).rejects.toThrow('OOM');
        expect(await read(`${CLIENT}:5`, { memoryMs: 3_000 })).toEqual(busy);
        expect(await endRead(B, 1)).toBe('done');
        expect(await endWrite(A)).toBe('done');
        expect(await redis.admin.hgetall('k')).toEqual({ mode: 'read', [B]: '1' });
        expect(await endRead(B)).toBe('done');
        expect(await redis.admin.exists('k')).toBe(0);
        await expect(write(A)).rejects.toThrow('OOM');
      } finally {
        await redis.admin.config('SET', 'maxmemory', '0');
      }
    });
  });

  describe('arguments', () => {
    const BAD = [
      ...['NaN', '1.5', '-1', '1e3', '', ' 100', '100 ', '0x10', 'inf', '9223372036854775807'],
      ...['1'.repeat(400), '1000000000000000', '１００', '1\n', 'abc'],
    ];
    const fenced = {
      ...{ owner: A, leaseMs: 500, memoryMs: 0, channel, tokenTtlMs: 1_000 },
    };
    const scripts: [string, (bad: string | number) => Promise<unknown>][] = [
      ['read enter: lease', (bad) => read(A, { leaseMs: bad })],
      ['read enter: hold count', (bad) => read(A, { holdCount: bad })],
      ['read enter: memory', (bad) => read(A, { memoryMs: bad })],
      ['write enter: lease', (bad) => write(A, { leaseMs: bad })],
      ['write enter: memory', (bad) => write(A, { memoryMs: bad })],
      ...['leaseMs', 'memoryMs', 'tokenTtlMs'].map(
        (number): [string, (bad: string | number) => Promise<unknown>] => [
          `fenced enter: ${number}`,
          (bad) => run(WRITE_ACQUIRE.fenced, { ...fenced, [number]: bad }),
        ],
      ),
      ['read leave', (bad) => endRead(A, bad as number)],
      ['write leave', (bad) => endWrite(A, bad as number)],
      ['renew', (bad) => renew([A, bad])],
      ['renew: a later lease', (bad) => renew([A, 60_000], [B, bad])],
    ];

    it.each(scripts)('%s is refused before the first write', async (_, call) => {
      for (const bad of BAD) await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual({});
      await read(A);
      await read(A, { holdCount: 2 });
      const before = await redis.changes();
      for (const bad of BAD) await expect(call(bad)).rejects.toThrow('LOCKARG');
      expect(await redis.changes()).toBe(before);
    });

    it.each(scripts.filter(([name]) => /lease|enter: hold|renew/.test(name)))(
      '%s of 0 is refused',
      async (_, call) => {
        await expect(call(0)).rejects.toThrow('LOCKARG');
        expect(await look()).toEqual({});
      },
    );
  });

  const ALL = [
    ...[READ_ACQUIRE, READ_RELEASE, READ_CANCEL, READ_RENEW, READ_INSPECT],
    ...[WRITE_ACQUIRE, WRITE_ACQUIRE.fenced, WRITE_RELEASE, WRITE_CANCEL, WRITE_INSPECT, RENEW],
    LEASE_APART,
  ] as Script<string, string, unknown>[];

  it.each(ALL)('$name takes no answer it does not know', ({ decode }) => {
    for (const reply of [2, 'x', null, undefined, {}, [null], [1.5, null]]) {
      expect(() => decode(reply)).toThrow('makes no sense');
    }
  });
});
