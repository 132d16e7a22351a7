import { describe, expect, it } from '@jest/globals';
import { SemaphoreService } from 'nestjs-redis-lock';
import { roundTrips, Stopwatch, useLocks, useRealRedis, watch } from '../support/set-up.js';
import { useRedisson } from './redisson.js';
import { BY_MESSAGE_MS, listening, NO_POLL } from './sides.js';

const ON = ['semaphore', 'a'] as const;

describe('the counting semaphore and RSemaphore', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new SemaphoreService(context));
  const ours = (settings?: Parameters<typeof open>[0]) => open(settings).locks.counting('a');

  it('count on one counter', async () => {
    const semaphore = ours();
    expect(await java.current.call('A', ON, 'trySetPermits', 3)).toBe(true);
    expect(await semaphore.trySetPermits(5)).toBe(false);
    await semaphore.acquire(2);
    expect(await java.current.call('A', ON, 'tryAcquire', 2)).toBe(false);
    expect(await java.current.call('A', ON, 'tryAcquire')).toBe(true);
    expect(await semaphore.tryAcquire()).toBe(false);
    await semaphore.release(2);
    expect(await java.current.call('A', ON, 'availablePermits')).toBe(2);
    await java.current.call('A', ON, 'release');
    expect(await semaphore.availablePermits()).toBe(3);
  });

  it('add, remove and drain for each other', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(2);
    await java.current.call('A', ON, 'addPermits', 3);
    expect(await semaphore.availablePermits()).toBe(5);
    await semaphore.addPermits(-1);
    expect(await java.current.call('A', ON, 'drainPermits')).toBe(4);
    expect(await semaphore.drainPermits()).toBe(0);
    await java.current.call('A', ON, 'addPermits', -2);
    expect(await semaphore.availablePermits()).toBe(-2);
    expect(await semaphore.tryAcquire()).toBe(false);
    await semaphore.release(3);
    expect(await java.current.call('A', ON, 'tryAcquire')).toBe(true);
  });

  it('go on waiting in Java while there are fewer than none', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiting = watch(java.current.call('A', ON, 'acquire'));
    await java.current.parked('A');
    await semaphore.addPermits(-2);
    await roundTrips(redis, 3);
    expect(waiting.state).toBe('pending');
    await semaphore.release(3);
    await waiting.promise;
    expect(await semaphore.availablePermits()).toBe(0);
  });

  it('wake a waiter of Java that needs several, by a message', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(1);
    const waiting = watch(java.current.call('A', ON, 'acquire', 3));
    await java.current.parked('A');
    await semaphore.release();
    await roundTrips(redis, 3);
    expect(waiting.state).toBe('pending');
    const sinceRelease = new Stopwatch();
    await semaphore.release();
    await waiting.promise;
    expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
    expect(await semaphore.availablePermits()).toBe(0);
  });

  it('wake a waiter of Node that needs several, by a message', async () => {
    const semaphore = ours(NO_POLL);
    await java.current.call('A', ON, 'trySetPermits', 1);
    const waiting = watch(semaphore.acquire(3));
    await listening(redis, 1);
    await java.current.call('A', ON, 'release');
    await roundTrips(redis, 3);
    expect(waiting.state).toBe('pending');
    const sinceRelease = new Stopwatch();
    await java.current.call('A', ON, 'release');
    await waiting.promise;
    expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
    expect(await java.current.call('A', ON, 'availablePermits')).toBe(0);
  });
});
