import { describe, expect, it } from '@jest/globals';
import { LockService } from 'nestjs-redis-lock/core';
import { PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden } from '../support/wire/golden.js';

const redis = useRealRedis();
const golden = useGolden(redis, 'lock', { ours: /^nestjs_lock_/ });
const open = useLocks(redis, (context) => new LockService(context));
const LEASE_LOST = { code: 'LEASE_LOST' };

const listening = () => redis.listening('redisson_lock__channel:{a}');

describe('what LockService leaves in Redis is what RLock leaves there', () => {
  it('when it is taken, entered again and released', async () => {
    const { locks } = open();
    const trace = await golden.scenario('taken, entered again, released');
    await locks.using('a', async (lease) => {
      expect(lease.owner).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[1-9]\d*$/);
      await trace.plays('A: lock.lock()', lease);
      await locks.using('a', () => trace.sees('A: lock.lock()'));
      await trace.sees('A: lock.unlock()');
    });
    await trace.sees('A: lock.unlock()');
  });

  it('when it has a lease of its own, which ours never shortens', async () => {
    const { locks } = open();
    const trace = await golden.scenario('with a lease of its own');
    await locks.using(
      'a',
      async (lease) => {
        await trace.plays('A: lock.tryLock(0, 60000)', lease);
        const twice = { a: { hash: { '<A>': '2' }, ttl: 60_000 } };
        const once = { a: { hash: { '<A>': '1' }, ttl: 60_000 } };
        const shorter = { leaseTimeMs: 20_000 };
        await locks.using(
          'a',
          () => trace.sees('A: lock.tryLock(0, 20000)', { keys: twice }),
          shorter,
        );
        await trace.sees('A: lock.unlock()', { keys: once });
      },
      { leaseTimeMs: 60_000 },
    );
    await trace.sees('A: lock.unlock()');
  });

  it('when it is waited for', async () => {
    // Without this, a release would give the lock to our waiter, and publish only where an outsider listens.
    const holder = open({ interop: 'redisson' });
    const waiter = open({ interop: 'redisson', pollIntervalMs: 60_000 });
    const trace = await golden.scenario('waited for');
    const held = await trace.plays('A: lock.lock()', holder.locks.acquire('a'));
    const waiting = waiter.locks.acquire('a');
    await listening();
    const other = redis.admin.duplicate();
    await other.subscribe('redisson_lock__channel:{a}');
    await held.release();
    trace.passes('A: lock.unlock()');
    const lease = await trace.plays('B: lock.lock() goes on', waiting);
    await trace.plays('B: lock.unlock()', lease.release());
    other.disconnect();
  });

  it('when its lease ends it', async () => {
    const [holder, other] = [open(), open()];
    const trace = await golden.scenario('ended by its lease');
    const lost = await trace.plays(
      'A: lock.tryLock(0, 20000)',
      holder.locks.acquire('a', { leaseTimeMs: 20_000 }),
    );
    await redis.admin.del('a');
    await trace.sees('time ends a');
    const lease = await trace.plays('B: lock.tryLock()', other.locks.acquire('a'));
    await expect(lost.release()).rejects.toMatchObject(LEASE_LOST);
    await trace.sees('A: lock.unlock()');
    await trace.plays('B: lock.unlock()', lease.release());
  });

  it('when it is ended by force', async () => {
    const [holder, other] = [open(), open()];
    const trace = await golden.scenario('ended by force');
    const work = holder.locks.using('a', async (lease) => {
      await trace.plays('A: lock.lock()', lease);
      await holder.locks.using('a', async () => {
        await trace.sees('A: lock.lock()');
        expect(await other.locks.get('a').forceRelease()).toBe(true);
        await trace.sees('B: lock.forceUnlock()');
      });
    });
    await expect(work).rejects.toMatchObject(LEASE_LOST);
    await trace.sees('A: lock.unlock()');
  });
});

describe('what RLock leaves in Redis is understood by LockService', () => {
  it('when it is taken, entered again and released', async () => {
    const { locks } = open();
    const trace = await golden.scenario('taken, entered again, released');
    for (const step of ['A: lock.lock()', 'A: lock.lock()', 'A: lock.unlock()']) {
      await trace.put(step);
      expect(await locks.tryAcquire('a')).toBeNull();
      expect(await locks.get('a').isLocked()).toBe(true);
    }
    await trace.put('A: lock.unlock()');
    expect(await locks.get('a').isLocked()).toBe(false);
    expect((await locks.tryAcquire('a'))?.holdCount).toBe(1);
  });

  it('when it has a lease of its own', async () => {
    const { locks } = open();
    const trace = await golden.scenario('with a lease of its own');
    await trace.put('A: lock.tryLock(0, 60000)');
    expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(20_000);
    await trace.put('A: lock.tryLock(0, 20000)');
    expect(await locks.get('a').remainingTimeMs()).toBeLessThanOrEqual(20_000);
    await trace.put('A: lock.unlock()');
    expect(await locks.tryAcquire('a')).toBeNull();
    await trace.put('A: lock.unlock()');
    expect(await locks.get('a').remainingTimeMs()).toBe(0);
  });

  it('when it is waited for', async () => {
    const { locks } = open({ pollIntervalMs: 60_000 });
    const trace = await golden.scenario('waited for');
    await trace.put('A: lock.lock()');
    const waiting = locks.acquire('a');
    await listening();
    const sinceUnlock = new Stopwatch();
    await trace.put('A: lock.unlock()');
    const lease = await waiting;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    trace.owner('B', lease.owner);
    await trace.sees('B: lock.lock() goes on');
    await trace.plays('B: lock.unlock()', lease.release());
  });

  it('when its lease ends it', async () => {
    const { locks } = open({ pollIntervalMs: 50 });
    const trace = await golden.scenario('ended by its lease');
    await trace.put('A: lock.tryLock(0, 20000)');
    const waiting = locks.acquire('a');
    await listening();
    await trace.put('time ends a');
    const lease = await trace.plays('B: lock.tryLock()', waiting);
    await trace.plays('B: lock.unlock()', lease.release());
  });

  it('when we end it by force', async () => {
    const { locks } = open();
    const trace = await golden.scenario('ended by force');
    await trace.put('A: lock.lock()');
    await trace.put('A: lock.lock()');
    expect(await trace.plays('B: lock.forceUnlock()', locks.get('a').forceRelease())).toBe(true);
    expect(await locks.get('a').forceRelease()).toBe(false);
  });
});
