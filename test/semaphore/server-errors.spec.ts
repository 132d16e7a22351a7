import { afterEach, describe, expect, it } from '@jest/globals';
import { LockBackendError, SemaphoreService } from 'nestjs-redis-lock/core';
import { timeoutOf } from '../support/redisson-permits.js';
import { eventually, useLocks, useRealRedis } from '../support/set-up.js';

describe('SemaphoreService given the errors of a real server', () => {
  const redis = useRealRedis();
  afterEach(async () => {
    await redis.admin.config('SET', 'maxmemory', 0);
  });
  const open = useLocks(redis, (context) => new SemaphoreService(context));

  it('OOM: refuses to acquire, and lets what is held be renewed and released', async () => {
    const client = open({ watchdogLeaseMs: 3_000 });
    const semaphore = client.locks.get('a');
    await semaphore.setPermits(5);
    const [lease, byId] = [await semaphore.acquire({ permits: 2 }), await semaphore.acquire()];
    await redis.admin.config('SET', 'maxmemory', 1);
    const error = await semaphore.acquire().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockBackendError);
    expect(error).toMatchObject({ retryable: false, outcome: 'none' });
    await eventually(() => client.eventsOf('renewed').length >= 3);
    expect(await semaphore.availablePermits()).toBe(2);
    await lease.release();
    await semaphore.release(byId.permitIds);
    expect(await redis.admin.get('a')).toBe('5');
    expect(client.eventsOf('release-failed')).toEqual([]);
  });

  it('OOM: waits without a mark', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(3);
    const lease = await semaphore.acquire({ permits: 2 });
    await redis.admin.config('SET', 'maxmemory', 1);
    const waiting = open().locks.get('a').acquire({ permits: 2 });
    await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 1);
    await redis.admin.config('SET', 'maxmemory', 0);
    await lease.release();
    (await waiting).assertHeld();
  });

  it('OOM: takes no counting permit, and releases those that are taken when it is over', async () => {
    const semaphore = open().locks.counting('a');
    await semaphore.trySetPermits(3);
    await semaphore.acquire();
    await redis.admin.config('SET', 'maxmemory', 1);
    await expect(semaphore.acquire()).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
    await expect(semaphore.release()).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
    expect(await redis.admin.get('a')).toBe('2');
    await redis.admin.config('SET', 'maxmemory', 0);
    await eventually(async () => (await redis.admin.get('a')) === '3');
  });

  it.each(['decrby', 'zadd'])('NOPERM: takes nothing without the right to %s', async (command) => {
    await open().locks.get('a').setPermits(5);
    await redis.admin.acl('SETUSER', 'app', 'on', '>pass', '~*', '&*', '+@all', `-${command}`);
    const client = open({ connection: redis.url.replace('://', '://app:pass@') });
    const error = await client.locks
      .get('a')
      .acquire({ permits: 2 })
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'LOCK_BACKEND', retryable: false });
    expect(await redis.admin.get('a')).toBe('5');
    expect(await redis.admin.exists(timeoutOf('a'))).toBe(0);
  });

  it('NOPERM: releases without the right to publish, and says that no waiter was notified', async () => {
    await open().locks.get('a').setPermits(1);
    await redis.admin.acl('SETUSER', 'app', 'on', '>pass', '~*', 'resetchannels', '+@all');
    const client = open({ connection: redis.url.replace('://', '://app:pass@') });
    await (await client.locks.get('a').acquire()).release();
    expect(await redis.admin.get('a')).toBe('1');
    expect(client.eventsOf('wake-up-failed')).toHaveLength(1);
  });

  it('NOSCRIPT: loads what Redis has forgotten', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(2);
    const lease = await semaphore.acquire();
    await redis.admin.script('FLUSH');
    await lease.renew();
    await redis.admin.script('FLUSH');
    await (await semaphore.acquire()).release();
    await redis.admin.script('FLUSH');
    await lease.release();
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('a restart without data: the lease is lost, and the release makes no permits', async () => {
    const client = open({ watchdogLeaseMs: 600 });
    const semaphore = client.locks.get('a');
    await semaphore.setPermits(2);
    const lease = await semaphore.acquire();
    await redis.restart();
    await eventually(() => lease.state === 'lost');
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await eventually(() => semaphore.trySetPermits(2).catch(() => false));
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('a restart without data: who waits for counting permits gets the next ones', async () => {
    const semaphore = open().locks.counting('a');
    await semaphore.trySetPermits(5);
    const waiting = semaphore.acquire(6, { waitTimeMs: 60_000 });
    await redis.restart();
    await eventually(async () => (await semaphore.availablePermits()) === 0);
    await semaphore.addPermits(6);
    await waiting;
  });
});
