import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SemaphoreService } from 'nestjs-redis-lock';
import { Section, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { Redisson, useRedisson } from './redisson.js';
import { BY_MESSAGE_MS, listening, LONG_MS, MS, NO_POLL } from './sides.js';

const PERMITS = ['permitExpirableSemaphore', 'a'] as const;
const LEASE_MS = 1_500;

describe('SemaphoreService and RPermitExpirableSemaphore', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new SemaphoreService(context));
  const ours = (settings?: Parameters<typeof open>[0]) => open(settings).locks.get('a');

  it('share one number of permits', async () => {
    const semaphore = ours();
    expect(await semaphore.trySetPermits(3)).toBe(true);
    expect(await java.current.call('A', PERMITS, 'trySetPermits', 5)).toBe(false);
    const lease = await semaphore.acquire({ permits: 2 });
    const id = await java.current.call<string>('A', PERMITS, 'acquire', 60_000, MS);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(await semaphore.availablePermits()).toBe(0);
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(0);
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await java.current.call('A', PERMITS, 'tryAcquire')).toBeNull();
    await java.current.call('A', PERMITS, 'release', id);
    await lease.release();
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(3);
  });

  it('see the permits that the other side adds', async () => {
    const semaphore = ours();
    expect(await java.current.call('A', PERMITS, 'trySetPermits', 1)).toBe(true);
    expect(await semaphore.trySetPermits(2)).toBe(false);
    await java.current.call('A', PERMITS, 'addPermits', 2);
    expect(await semaphore.availablePermits()).toBe(3);
    await semaphore.addPermits(-1);
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(2);
    const lease = await semaphore.acquire({ permits: 2 });
    await semaphore.setPermits(5);
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(3);
    await lease.release();
    expect(await semaphore.permits()).toBe(5);
  });

  it('wake a waiter of Node at a release of Java, by its message', async () => {
    const semaphore = ours(NO_POLL);
    await semaphore.trySetPermits(2);
    const ids = [
      await java.current.call<string>('A', PERMITS, 'acquire'),
      await java.current.call<string>('A', PERMITS, 'acquire'),
    ] as const;
    const waiting = semaphore.acquire({ permits: 2 });
    await listening(redis, 1);
    await java.current.call('A', PERMITS, 'release', ids[0]);
    const sinceRelease = new Stopwatch();
    await java.current.call('A', PERMITS, 'release', ids[1]);
    const lease = await waiting;
    expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
    expect(lease.permitIds).toHaveLength(2);
    await lease.release();
  });

  it('wake a waiter of Java at a release of Node, by its message', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(1);
    const lease = await semaphore.acquire();
    const waiting = java.current.call<string>('A', PERMITS, 'tryAcquire', LONG_MS, 60_000, MS);
    await java.current.parked('A');
    const sinceRelease = new Stopwatch();
    await lease.release();
    const id = await waiting;
    expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
    await java.current.call('A', PERMITS, 'release', id);
  });

  it('give the permit of a lease that has ended to a waiter of Node', async () => {
    const semaphore = ours(NO_POLL);
    await semaphore.trySetPermits(1);
    const id = await java.current.call<string>('A', PERMITS, 'acquire', LEASE_MS, MS);
    const sinceGrant = new Stopwatch();
    const lease = await semaphore.acquire();
    expect(sinceGrant.ms).toBeLessThan(LEASE_MS + BY_MESSAGE_MS);
    expect(await java.current.call('A', PERMITS, 'tryRelease', id)).toBe(false);
    lease.assertHeld();
    await lease.release();
    expect(await semaphore.availablePermits()).toBe(1);
  });

  it('give the permit of a Node process that died to a waiter of Java', async () => {
    const connection = new Redis(redis.url);
    const semaphore = ours({ connection, watchdogLeaseMs: LEASE_MS });
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiting = java.current.call<string>('A', PERMITS, 'tryAcquire', LONG_MS, 60_000, MS);
    await java.current.parked('A');
    connection.disconnect();
    const sinceCrash = new Stopwatch();
    const id = await waiting;
    expect(sinceCrash.ms).toBeLessThan(LEASE_MS + BY_MESSAGE_MS);
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(0);
    await java.current.call('A', PERMITS, 'release', id);
  });

  it('keep a permit without a lease for ever: Java never renews one', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(1);
    const mortal = await java.start();
    await mortal.call<string>('A', PERMITS, 'acquire');
    await mortal.kill();
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await semaphore.availablePermits()).toBe(0);
    expect(await redis.admin.zrange('{a}:timeout', '0', '-1', 'WITHSCORES')).toContain(
      '922337203685477',
    );
    await redis.admin.del('a', '{a}:timeout');
  });

  it('let no more than the permits in, when both sides come and go', async () => {
    const semaphore = ours({ waitTimeMs: Infinity });
    await semaphore.trySetPermits(2);
    const section = new Section();
    const fromNode = async () => {
      for (let i = 0; i < 15; i += 1) await semaphore.using(() => section.run(() => undefined));
    };
    const fromJava = async (thread: string) => {
      for (let i = 0; i < 15; i += 1) {
        const id = await java.current.call<string>(thread, PERMITS, 'acquire', 60_000, MS);
        await section.run(() => undefined);
        await java.current.call(thread, PERMITS, 'release', id);
      }
    };
    await Promise.all([fromNode(), fromNode(), fromNode(), fromJava('A'), fromJava('B')]);
    expect(section.entries).toBe(75);
    expect(section.most).toBeLessThanOrEqual(2);
    expect(await semaphore.availablePermits()).toBe(2);
  });

  if (Redisson.is316) {
    it('cannot release the permits of each other: 3.16 writes their ids as text', async () => {
      const semaphore = ours();
      await semaphore.trySetPermits(2);
      const lease = await semaphore.acquire();
      const [id = ''] = lease.permitIds;
      expect(await java.current.call('A', PERMITS, 'tryRelease', id)).toBe(false);
      lease.assertHeld();
      await lease.release();
      const theirs = await java.current.call<string>('A', PERMITS, 'acquire', 60_000, MS);
      expect(await semaphore.tryRelease(theirs)).toBe(false);
      await java.current.call('A', PERMITS, 'release', theirs);
      expect(await semaphore.availablePermits()).toBe(2);
    });
    return;
  }

  it('release a permit of Node in Java, by its id', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(2);
    const lease = await semaphore.acquire({ permits: 2 });
    const [first = '', second = ''] = lease.permitIds;
    expect(await java.current.call('A', PERMITS, 'tryRelease', first)).toBe(true);
    expect(await semaphore.availablePermits()).toBe(1);
    expect(await java.current.call('A', PERMITS, 'getLeaseTime', second)).toBeGreaterThan(20_000);
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await java.current.call('A', PERMITS, 'tryRelease', [second])).toBe(0);
    expect(await semaphore.availablePermits()).toBe(2);
  });

  it('release a permit of Java in Node, by its id', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(3);
    const ids = await java.current.call<string[]>('A', PERMITS, 'acquire', 2, 60_000, MS);
    const [first = '', second = ''] = ids;
    expect(await semaphore.remainingTimeMs(first)).toBeGreaterThan(50_000);
    expect(await semaphore.tryRelease([first, '0'.repeat(32)])).toBe(false);
    expect(await semaphore.availablePermits()).toBe(1);
    expect(await semaphore.tryRelease([first, second])).toBe(true);
    expect(await java.current.call('A', PERMITS, 'availablePermits')).toBe(3);
    expect(await java.current.call('A', PERMITS, 'tryRelease', first)).toBe(false);
  });

  it('prolong and shorten the leases of each other', async () => {
    const semaphore = ours();
    await semaphore.trySetPermits(1);
    const id = await java.current.call<string>('A', PERMITS, 'acquire', 60_000, MS);
    expect(await semaphore.updateLeaseTime(id, 20_000)).toBe(true);
    expect(await java.current.call('A', PERMITS, 'getLeaseTime', id)).toBeLessThanOrEqual(20_000);
    expect(await java.current.call('A', PERMITS, 'updateLeaseTime', id, 40_000, MS)).toBe(true);
    expect(await semaphore.remainingTimeMs(id)).toBeGreaterThan(30_000);
    await semaphore.release(id);
  });
});
