import { describe, expect, it } from '@jest/globals';
import { LockService, SemaphoreService } from 'nestjs-redis-lock';
import { PROMPT_MS, roundTrips, Section } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import { redisson } from '../support/redisson.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

/** Redisson's own tests of RLock, as far as no other spec has their behaviour. */
describe('what Redisson tests of a lock', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => ({
    locks: new LockService(context),
    semaphores: new SemaphoreService(context),
  }));

  it('testSubscriptionsPerConnection: 500 jobs leave no channel behind', async () => {
    const [ours, others] = [open().locks, open().locks];
    const section = new Section();
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => {
        const { locks } = i % 2 === 0 ? ours : others;
        const name = `name${String(i % 10)}`;
        return locks.using(name, () => section.run(() => undefined), { waitTimeMs: 15_000 });
      }),
    );
    expect(section.entries).toBe(500);
    await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0);
  });

  it('testSinglePubSub: many locks are waited for on one connection for messages', async () => {
    const { locks } = open({ pollIntervalMs: 60_000 }).locks;
    const names = Array.from({ length: 20 }, (_, i) => `name${String(i)}`);
    for (const name of names) await redisson.tryLock(redis.admin, name);
    const waiting = names.map((name) => locks.acquire(name, { waitTimeMs: 60_000 }));
    await eventually(async () => (await redis.wakeUpChannels()).length === names.length);
    expect(await redis.clients()).toHaveLength(2);
    await roundTrips(redis, 5);
    for (const name of names) await redisson.unlock(redis.admin, name);
    for (const lease of await Promise.all(waiting)) await lease.release();
  });

  it('testLockIsNotRenewedAfterInterruptedTryLock: what an aborted call got is not renewed', async () => {
    const client = open({ connection: proxy.current.url, leaseTimeMs: 1_500 });
    const { locks } = client.locks;
    await (await locks.acquire('w')).release();
    const fault = proxy.current.hold('toClient');
    const abort = new AbortController();
    const trying = locks.tryAcquire('a', { waitTimeMs: 10_000, signal: abort.signal });
    await eventually(async () => (await redis.admin.exists('a')) === 1);
    abort.abort(new Error('interrupted'));
    await expect(trying).rejects.toThrow('interrupted');
    fault.heal();
    const stopwatch = new Stopwatch();
    await eventually(() => client.eventsOf('late-grant').length === 1);
    await eventually(async () => (await redis.admin.exists('a')) === 0, {
      withinMs: 2 * PROMPT_MS,
    });
    // By then a hold would have been renewed.
    await eventually(() => stopwatch.realMs > 700);
    expect([...client.eventsOf('renewed'), ...client.eventsOf('lost')]).toEqual([]);
  });

  it('testRemainTimeToLive: what was asked for, then 0; without a lease that of the watchdog', async () => {
    const { locks } = open({ leaseTimeMs: 20_000 }).locks;
    const lock = locks.get('a');
    const remaining: number[] = [];
    for (const leaseTimeMs of [3_600_000, undefined]) {
      const lease = await lock.acquire({ leaseTimeMs });
      remaining.push(await lock.remainingTimeMs());
      await lease.release();
      remaining.push(await lock.remainingTimeMs());
    }
    const rounded = remaining.map((ms) => Math.ceil(ms / 10_000) * 10_000);
    expect(rounded).toEqual([3_600_000, 0, 20_000, 0]);
  });

  it('testGetHoldCount: 0, 1, 0, 2, 1, 0', async () => {
    const { locks } = open().locks;
    const counts: number[] = [];
    const look = async () => counts.push(Number((await redis.admin.hvals('a'))[0] ?? 0));
    await look();
    await locks.using('a', look);
    await look();
    await locks.using('a', async () => {
      await locks.using('a', look);
      await look();
    });
    await look();
    expect(counts).toEqual([0, 1, 0, 2, 1, 0]);
  });

  it('testLockAfterTimeout: after a restart the release rejects, and a new hold is renewed', async () => {
    const client = open({ leaseTimeMs: 1_200 });
    const { locks } = client.locks;
    const lease = await locks.acquire('a');
    await redis.restart();
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const next = await locks.acquire('a');
    const renewals = client.eventsOf('renewed').length;
    await eventually(() => client.eventsOf('renewed').length >= renewals + 4);
    next.assertHeld();
    await next.release();
  });

  it('testLockReentrantRenew: a later hold of the name is renewed for ten periods', async () => {
    const client = open({ leaseTimeMs: 600 });
    const { locks } = client.locks;
    await locks.using('a', () => locks.using('a', () => undefined));
    const lease = await locks.acquire('a');
    const stopwatch = new Stopwatch();
    await eventually(() => stopwatch.realMs > 2_000);
    lease.assertHeld();
    await lease.release();
    expect(client.eventsOf('renewed').length).toBeGreaterThanOrEqual(5);
    expect(client.eventsOf('lost')).toEqual([]);
  });

  it('RedissonLockHeavyTest: 20 callers with locks and semaphores in turn, ten times each', async () => {
    const [ours, others] = [open().locks, open().locks];
    await ours.semaphores.get('permits').setPermits(10);
    const [locked, permitted] = [new Section(), new Section()];
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const { locks, semaphores } = i % 2 === 0 ? ours : others;
        for (let round = 0; round < 10; round += 1) {
          await locks.using('a', () => locked.run(() => roundTrips(redis, 1)));
          await semaphores.get('permits').using(() => permitted.run(() => roundTrips(redis, 1)));
          await (await locks.tryAcquire('a'))?.release();
        }
      }),
    );
    expect(locked).toMatchObject({ entries: 200, most: 1 });
    expect(permitted.entries).toBe(200);
    expect(permitted.most).toBeLessThanOrEqual(10);
  });

  it("testTryLockAsync and the like of the spin lock: a try by wakeUp: 'poll' keeps its time", async () => {
    const { locks } = open({ wakeUp: 'poll' }).locks;
    await redisson.tryLock(redis.admin, 'a');
    const stopwatch = new Stopwatch();
    expect(await locks.tryAcquire('a')).toBeNull();
    expect(await locks.tryAcquire('a', { waitTimeMs: 400 })).toBeNull();
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + 2 * PROMPT_MS);
    const trying = locks.tryAcquire('a', { waitTimeMs: 15_000 });
    await roundTrips(redis, 5);
    await redisson.unlock(redis.admin, 'a');
    await (await trying)?.release();
    expect(await trying).not.toBeNull();
  });
});
