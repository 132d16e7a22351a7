import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock';
import { HANDED_LOCK } from '../contract/handed.js';
import { eventually, Section, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { describeExclusive } from './exclusive.suite.js';
import { Redisson, useRedisson } from './redisson.js';
import { LONG_MS, MS } from './sides.js';

/** Node leaves it to Java so often, at least. */
const OPEN_EVERY_MS = 1_000;

describe('LockService and RLock', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new LockService(context));

  describeExclusive({
    ...{ redis, java, open, theirs: 'lock', handed: HANDED_LOCK },
    ours: (locks) => locks.get('a'),
  });

  it.each(['{shop}:1', 'stock:{shop}', '商品 1'])('meet on the name %s', async (name) => {
    const { locks } = open({ pollIntervalMs: 60_000 });
    await java.current.call('A', ['lock', name], 'lock');
    expect(await locks.tryAcquire(name)).toBeNull();
    const waiting = locks.acquire(name);
    await java.current.call('A', ['lock', name], 'unlock');
    const lease = await waiting;
    expect(await java.current.call('A', ['lock', name], 'tryLock')).toBe(false);
    await lease.release();
  });

  it('meet on a name that has a prefix on our side', async () => {
    const { locks } = open({ keyPrefix: 'shop:' });
    const lease = await locks.acquire('a');
    expect(await java.current.call('A', ['lock', 'shop:a'], 'tryLock')).toBe(false);
    expect(await java.current.call('A', ['lock', 'a'], 'tryLock')).toBe(true);
    await java.current.call('A', ['lock', 'a'], 'unlock');
    await lease.release();
  });

  it('meet when Java polls instead of listening', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    const waiting = java.current.call('A', ['spinLock', 'a'], 'tryLock', 20_000, MS);
    await lease.release();
    expect(await waiting).toBe(true);
    expect(await locks.tryAcquire('a')).toBeNull();
    await java.current.call('A', ['spinLock', 'a'], 'unlock');
  });

  describe.each([
    ['lock', []],
    ['tryLock', [LONG_MS, MS]],
  ])('while callers in Node keep asking, Java by %s', (method, args) => {
    const on = ['lock', 'a'] as const;
    const TIMES = 6;

    it.each([
      [1, 100],
      [2, 50],
    ])('gets in every second, and alone: %d processes, %d callers each', async (count, callers) => {
      const clients = Array.from({ length: count }, () => open({ waitTimeMs: Infinity }));
      const section = new Section();
      const nodeGoesOn = (from = section.entries) =>
        eventually(() => section.entries > from + count * callers);
      let isOn = true;
      const asking = clients.flatMap(({ locks }) =>
        Array.from({ length: callers }, async () => {
          while (isOn) await locks.using('a', () => section.run(() => redis.admin.ping()));
        }),
      );
      try {
        for (let time = 0; time < TIMES; time += 1) {
          await nodeGoesOn();
          const sinceCall = new Stopwatch();
          await java.current.call('A', on, method, ...args);
          expect(sinceCall.ms).toBeLessThan(5 * OPEN_EVERY_MS);
          await section.run(async () => {
            expect(await java.current.call('A', on, 'isHeldByCurrentThread')).toBe(true);
            expect(await redis.admin.hkeys('a')).toEqual([await java.current.owner('A')]);
          });
          await java.current.call('A', on, 'unlock');
        }
      } finally {
        isOn = false;
        await Promise.all(asking);
      }
      expect(section.most).toBe(1);
    });
  });

  it.each([
    [1, 8],
    [2, 4],
  ])(
    'share it by polls: %d processes of Node with %d callers each, and spinning threads',
    async (count, callers) => {
      const settings = { waitTimeMs: Infinity, wakeUp: 'poll' } as const;
      const clients = Array.from({ length: count }, () => open(settings));
      const section = new Section();
      let isOn = true;
      let entries = 0;
      const asking = clients.flatMap(({ locks }) =>
        Array.from({ length: callers }, async () => {
          while (isOn) await locks.using('a', () => section.run(() => redis.admin.ping()));
        }),
      );
      const spinning = async (thread: string) => {
        const on = ['spinLock', 'a'] as const;
        for (let time = 0; time < 5; time += 1) {
          expect(await java.current.call(thread, on, 'tryLock', LONG_MS, MS)).toBe(true);
          await section.run(async () => void (entries += 1));
          await java.current.call(thread, on, 'unlock');
        }
      };
      try {
        await Promise.all(['A', 'B'].map(spinning));
      } finally {
        isOn = false;
        await Promise.all(asking);
      }
      expect(entries).toBe(10);
      expect(section.most).toBe(1);
    },
  );

  if (Redisson.is316) return;
  describe('with fencing tokens', () => {
    const on = ['fencedLock', 'a'] as const;
    const token = () => java.current.call<number>('A', on, 'lockAndGetToken');

    it('go on from the token of the other side', async () => {
      const { locks } = open();
      const tokens: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const lease = await locks.acquire('a', { fenced: true });
        tokens.push(lease.fencingToken);
        expect(await java.current.call('A', on, 'getToken')).toBe(lease.fencingToken);
        await lease.release();
        tokens.push(await token());
        await java.current.call('A', on, 'unlock');
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
      expect(tokens[1]).toBe((tokens[0] ?? NaN) + 1);
    });

    it('exclude each other', async () => {
      const { locks } = open();
      await token();
      expect(await locks.tryAcquire('a', { fenced: true })).toBeNull();
      await java.current.call('A', on, 'unlock');
      const lease = await locks.acquire('a', { fenced: true });
      expect(await java.current.call('A', on, 'tryLockAndGetToken', 0, 5_000, MS)).toBeNull();
      await lease.release();
    });

    it('rise above what Java has counted from nothing', async () => {
      const { locks } = open();
      expect(await token()).toBe(1);
      await java.current.call('A', on, 'unlock');
      const lease = await locks.acquire('a', { fenced: true });
      expect(lease.fencingToken).toBeGreaterThan(1_000_000);
      await lease.release();
      expect(await token()).toBe(lease.fencingToken + 1);
      await java.current.call('A', on, 'unlock');
    });
  });
});
