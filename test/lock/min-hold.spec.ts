import { describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockService } from 'nestjs-redis-lock';
import { LEAVE_LATER } from '../../libs/redis-lock/src/primitives/reentrant-lock/reentrant-lock.scripts.js';
import { watch } from '../contract/suite.js';
import { deliver } from '../support/deliver.js';
import { eventually } from '../support/eventually.js';
import { untilInLine, useLocks } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';

describe('a lock with a shortest time', () => {
  const redis = useRedis();
  const open = useLocks(redis, (context) => new LockService(context));

  it('stays taken after its release, and ends by itself', async () => {
    const [ours, others] = [open(), open({ pollIntervalMs: 50 })];
    const lease = await ours.locks.acquire('a', { minHoldMs: 20_000 });
    await lease.release();
    expect(lease.state).toBe('released');
    const ttl = await redis.admin.pttl('a');
    expect(ttl).toBeGreaterThan(10_000);
    expect(ttl).toBeLessThanOrEqual(20_000);
    expect(ours.eventsOf('released')).toMatchObject([{ outcome: 'done' }]);
    expect(await ours.locks.tryAcquire('a')).toBeNull();
    const waiting = watch(others.locks.acquire('a'));
    await untilInLine(redis, 'a', [others]);
    expect(waiting.state).toBe('pending');
    await redis.admin.pexpire('a', 1);
    await (await waiting.promise).release();
  });

  it('keeps local waiters waiting, who get it once it has ended', async () => {
    const { locks, eventsOf } = open({ pollIntervalMs: 50 });
    const lease = await locks.acquire('a', { minHoldMs: 20_000 });
    const waiting = watch(locks.acquire('a', { label: 'the next' }));
    await lease.release();
    expect(waiting.state).toBe('pending');
    await redis.admin.pexpire('a', 1);
    await (await waiting.promise).release();
    expect(eventsOf('acquired')).toHaveLength(2);
  });

  it('is freed by its release once the time is over', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { minHoldMs: 20 });
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > 20);
    await lease.release();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('has the longest of what nested calls ask for, once all are given back', async () => {
    const { locks } = open();
    await locks.using('a', () => locks.using('a', () => undefined, { minHoldMs: 20_000 }));
    expect(await redis.admin.pttl('a')).toBeGreaterThan(10_000);
    await locks.get('a').forceRelease();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('is left to nobody by whoever does not hold it, and twice as once', async () => {
    await redis.admin.hset('a', 'other', 1);
    const leave = (owner: string) =>
      deliver(redis.admin, LEAVE_LATER, ['a'], { owner, keepMs: 1_000 });
    expect(await leave('me')).toBe('absent');
    expect(await redis.admin.pttl('a')).toBe(-1);
    expect([await leave('other'), await leave('other')]).toEqual(['done', 'done']);
    expect(await redis.admin.hgetall('a')).toEqual({ other: '1' });
    expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(1_000);
  });

  it.each([-1, NaN, Infinity, '1s', 1.5])('cannot be %p', async (minHoldMs) => {
    const asking = open().locks.acquire('a', { minHoldMs: minHoldMs as number });
    await expect(asking).rejects.toThrow(LockArgumentError);
  });

  it('is no longer than a fixed lease', async () => {
    const asking = open().locks.acquire('a', { minHoldMs: 20, leaseTimeMs: 10 });
    await expect(asking).rejects.toThrow('leaseTimeMs must not be less than minHoldMs');
  });
});
