import { describe, expect, it } from '@jest/globals';
import { LockService, type MultiLease } from 'nestjs-redis-lock/core';
import { PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden, type Replay } from '../support/wire/golden.js';
import type { WireKeys } from '../support/wire/wire-state.js';

const redis = useRealRedis();
const golden = useGolden(redis, 'multi-lock');
const open = useLocks(redis, (context) => new LockService(context));

/** The second lock has another owner with us; in Java both are held by the thread. */
const keys = (redissons: WireKeys): WireKeys => {
  const { b } = JSON.parse(JSON.stringify(redissons).replaceAll('<A>', '<A of b>')) as WireKeys;
  return { ...redissons, ...(b && { b }) };
};
/** Java releases both at once; ours begins with the one that it took last. */
const messages = [
  ['redisson_lock__channel:{b}', '0'],
  ['redisson_lock__channel:{a}', '0'],
] as const;
const isHeldBy = (trace: Replay, { leases }: MultiLease) => {
  trace.owner('A', leases[0]?.owner ?? '');
  trace.owner('A of b', leases[1]?.owner ?? '');
};

describe('what LockService.multi leaves in Redis is what RedissonMultiLock leaves there', () => {
  it('when both are taken, entered again and released', async () => {
    const both = open().locks.multi(['b', 'a']);
    const trace = await golden.scenario('both are taken and released');
    await both.using(async (lease) => {
      isHeldBy(trace, lease);
      await trace.sees('A: multiLock.lock()', { keys });
      await both.using(() => trace.sees('A: multiLock.tryLock()', { keys }));
      await trace.sees('A: multiLock.unlock()', { keys });
    });
    await trace.sees('A: multiLock.unlock()', { messages });
  });

  it('when it has a lease of its own', async () => {
    const both = open().locks.multi(['a', 'b']);
    const trace = await golden.scenario('with a lease of its own');
    const lease = await both.acquire({ leaseTimeMs: 60_000 });
    isHeldBy(trace, lease);
    await trace.sees('A: multiLock.tryLock(5000, 60000)', { keys });
    await trace.plays('A: multiLock.unlock()', lease.release(), { messages });
  });

  it('when one of them is taken', async () => {
    const [holder, other] = [open().locks, open().locks];
    const trace = await golden.scenario('one of them is taken');
    const held = await trace.plays('B: lock.lock()', holder.acquire('b'));
    expect(await other.multi(['a', 'b']).tryAcquire()).toBeNull();
    await trace.sees('A: multiLock.tryLock()');
    await trace.plays('B: lock.unlock()', held.release());
  });
});

describe('what RedissonMultiLock leaves in Redis is understood by LockService.multi', () => {
  it('when both are taken, entered again and released', async () => {
    const { locks } = open({ pollIntervalMs: 60_000 });
    const both = locks.multi(['a', 'b']);
    const trace = await golden.scenario('both are taken and released');
    const holding = ['A: multiLock.lock()', 'A: multiLock.tryLock()', 'A: multiLock.unlock()'];
    for (const step of holding) {
      await trace.put(step);
      expect(await both.isLocked()).toBe(true);
      expect(await both.tryAcquire()).toBeNull();
      expect(await locks.tryAcquire('b')).toBeNull();
    }
    const waiting = both.acquire();
    await redis.listening('redisson_lock__channel:{a}');
    const sinceUnlock = new Stopwatch();
    await trace.put('A: multiLock.unlock()');
    const lease = await waiting;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    await lease.release();
  });

  it('when it has a lease of its own', async () => {
    const both = open().locks.multi(['a', 'b']);
    const trace = await golden.scenario('with a lease of its own');
    await trace.put('A: multiLock.tryLock(5000, 60000)');
    expect(await both.remainingTimeMs()).toBeGreaterThan(30_000);
    await trace.put('A: multiLock.unlock()');
    expect(await both.remainingTimeMs()).toBe(0);
  });

  it('when one of them is taken', async () => {
    const both = open().locks.multi(['a', 'b']);
    const trace = await golden.scenario('one of them is taken');
    await trace.put('B: lock.lock()');
    expect(await trace.plays('A: multiLock.tryLock()', both.tryAcquire())).toBeNull();
    await trace.put('B: lock.unlock()');
    await (await both.acquire({ waitTimeMs: 0 })).release();
  });
});
