import { describe, expect, it } from '@jest/globals';
import { LockStateError } from 'nestjs-redis-lock/core';
import { PROMPT_MS, Stopwatch, useRealRedis } from '../support/set-up.js';
import { useGolden, type Replay } from '../support/wire/golden.js';
import { useReadWriteLocks } from './sides.js';

const LEASE_LOST = { code: 'LEASE_LOST' };
const CHANNEL = 'redisson_rwlock:{a}';

const redis = useRealRedis();
const golden = useGolden(redis, 'read-write-lock', { ours: /^nestjs_rwlock_/ });
const { open } = useReadWriteLocks(redis);
const lockOf = () => open().locks.get('a');
/** The waiters of this client learn of a release only by its message. */
const deafLockOf = () => open({ pollIntervalMs: 60_000, waitTimeMs: 60_000 }).locks.get('a');

/** A reads for a minute, and B for less. */
const bothRead = async (trace: Replay) => {
  const read = (leaseTimeMs: number) => lockOf().read.acquire({ leaseTimeMs });
  const a = await trace.plays('A: readLock.tryLock(0, 60000)', read(60_000));
  const b = await trace.plays('B: readLock.tryLock(0, 20000)', read(20_000));
  return [a, b] as const;
};

describe('what ReadWriteLockService leaves in Redis is what RReadWriteLock leaves there', () => {
  it('when two read', async () => {
    const [{ read, write }, other] = [lockOf(), lockOf()];
    const trace = await golden.scenario('two readers');
    const held = await read.using(async (lease) => {
      await trace.plays('A: readLock.lock()', lease);
      const b = await trace.plays('B: readLock.lock()', other.read.acquire());
      await read.using(async () => {
        await trace.sees('A: readLock.lock()');
        expect(await trace.plays('C: writeLock.tryLock()', other.write.tryAcquire())).toBeNull();
        await expect(write.tryAcquire()).rejects.toThrow(LockStateError);
        await trace.sees('A: writeLock.tryLock()');
      });
      await trace.sees('A: readLock.unlock()');
      return b;
    });
    await trace.sees('A: readLock.unlock()');
    await trace.plays('B: readLock.unlock()', held.release());
  });

  it('when readers have leases of their own', async () => {
    const trace = await golden.scenario('readers with leases of their own');
    const [a, b] = await bothRead(trace);
    await trace.plays('A: readLock.unlock()', a.release());
    await trace.plays('B: readLock.unlock()', b.release());
  });

  it('when a reader has died', async () => {
    const trace = await golden.scenario('a dead reader');
    const [a, b] = await bothRead(trace);
    await redis.admin.del(`{a}:${b.owner}:rwlock_timeout:1`);
    await trace.sees('time ends {a}:<B>:rwlock_timeout:1');
    await trace.plays('A: readLock.unlock()', a.release());
    await expect(b.release()).rejects.toMatchObject(LEASE_LOST);
  });
});

describe('what RReadWriteLock leaves in Redis is understood by ReadWriteLockService', () => {
  it('when two read', async () => {
    const { read, write } = lockOf();
    const trace = await golden.scenario('two readers');
    const steps = [
      ['A: readLock.lock()', 'B: readLock.lock()', 'A: readLock.lock()'],
      ['A: readLock.unlock()', 'A: readLock.unlock()'],
    ].flat();
    for (const step of steps) {
      await trace.put(step);
      expect(await write.tryAcquire()).toBeNull();
      expect(await read.isLocked()).toBe(true);
      await read.using(() => undefined);
    }
    await trace.put('B: readLock.unlock()');
    expect((await write.tryAcquire())?.holdCount).toBe(1);
  });

  it('when readers have leases of their own, which ours leaves as they are', async () => {
    const { read } = lockOf();
    const trace = await golden.scenario('readers with leases of their own');
    await trace.put('A: readLock.tryLock(0, 60000)');
    await (await read.acquire({ leaseTimeMs: 10_000 })).release();
    expect(await read.remainingTimeMs()).toBeGreaterThan(30_000);
    const b = await trace.plays(
      'B: readLock.tryLock(0, 20000)',
      read.acquire({ leaseTimeMs: 20_000 }),
    );
    await trace.put('A: readLock.unlock()');
    await trace.plays('B: readLock.unlock()', b.release());
  });

  it('when a reader has died', async () => {
    const { write } = lockOf();
    const trace = await golden.scenario('a dead reader');
    await trace.put('A: readLock.tryLock(0, 60000)');
    await trace.put('B: readLock.tryLock(0, 20000)');
    await trace.put('time ends {a}:<B>:rwlock_timeout:1');
    expect(await write.tryAcquire()).toBeNull();
    await trace.put('A: readLock.unlock()');
    expect((await write.tryAcquire())?.holdCount).toBe(1);
  });

  it('when we wait to write for a reader of Java', async () => {
    const { write } = deafLockOf();
    const trace = await golden.scenario('two readers');
    await trace.put('A: readLock.lock()');
    await trace.put('B: readLock.lock()');
    await trace.put('A: readLock.lock()');
    await trace.put('A: readLock.unlock()');
    await trace.put('A: readLock.unlock()');
    const waiting = write.acquire();
    await redis.listening(CHANNEL);
    const sinceUnlock = new Stopwatch();
    await trace.put('B: readLock.unlock()');
    await (await waiting).release();
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
  });
});
