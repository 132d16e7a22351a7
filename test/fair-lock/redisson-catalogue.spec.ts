import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from 'nestjs-redis-lock';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import {
  RELEASE,
  CANCEL,
} from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { PROMPT_MS } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useLocks } from '../support/lock-client.js';
import { channelOf } from '../support/redisson.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';
import { FairView, SLACK_MS } from './fair-view.js';

const LEASE_MS = 30_000;
const WAIT_MS = 5_000;

/** The tests of Redisson's RFairLock that are not covered beside, each by its name there. */
describe('FairLockService and RedissonFairLockTest', () => {
  const redis = useRedis();
  const view = new FairView(redis, 'a');
  const open = useLocks(redis, (context) => new FairLockService(context));
  const channelPrefix = channelOf('a');
  const enter = (owner: string) => view.enter({ owner, waitMs: WAIT_MS, aliveMs: 60_000 });
  const leave = (owner: string) => view.run(RELEASE, { owner, holdCount: 0, channelPrefix });
  const giveUp = (owner: string) => view.run(CANCEL, { owner, waitMs: WAIT_MS, channelPrefix });

  it('testLeaseTimeout: waiters with leases that nobody gives back follow in their order', async () => {
    const { locks } = open();
    const LEASE = 400;
    const order: number[] = [];
    const stopwatch = new Stopwatch();
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        await locks.acquire('a', { leaseTimeMs: LEASE });
        order.push(i);
      }),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(stopwatch.ms).toBeLessThan(8 * (LEASE + PROMPT_MS));
  });

  it('testMultipleLocks: many jobs on many locks all come through', async () => {
    const [ours, others] = [open(), open()];
    let done = 0;
    const jobs = Array.from({ length: 200 }, (_, i) =>
      (i % 2 === 0 ? ours : others).locks.using(`job:${String(i % 20)}`, () => (done += 1)),
    );
    await Promise.all(jobs);
    expect(done).toBe(200);
  });

  it('testWaitTimeoutDrift: waits in vain leave nothing in the scores of those who come later', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    for (let i = 0; i < 4; i += 1) {
      const tries = [400, 420, 440].map((waitTimeMs) => locks.tryAcquire('a', { waitTimeMs }));
      expect(await Promise.all(tries)).toEqual([null, null, null]);
    }
    await eventually(async () => (await view.queue()).length === 0);
    await lease.renew();
    await enter('last:1');
    await view.expectHorizons(LEASE_MS + WAIT_MS);
  });

  it('testLockAcquiredTimeoutDrift: grants leave nothing in the scores of those who wait on', async () => {
    await enter('a:0');
    for (let i = 1; i <= 10; i += 1) await enter(`a:${String(i)}`);
    for (let i = 0; i < 9; i += 1) {
      await leave(`a:${String(i)}`);
      expect(await enter(`a:${String(i + 1)}`)).toMatchObject({ kind: 'granted' });
    }
    await view.expectHorizons(LEASE_MS + WAIT_MS);
  });

  it('testFirstThreadDeathTimeoutDrift: the dead leave nothing in the scores of the living', async () => {
    await enter('a:0');
    for (let i = 1; i <= 5; i += 1) await enter(`dead:${String(i)}`);
    await enter('a:6');
    await view.expectHorizons(...[1, 2, 3, 4, 5, 6].map((n) => LEASE_MS + n * WAIT_MS));
    for (let i = 1; i <= 5; i += 1) await view.die(`dead:${String(i)}`);
    await enter('a:6');
    expect(await view.queue()).toEqual(['a:6']);
    await view.expectHorizons(LEASE_MS + WAIT_MS);
  });

  it('testAcquireFailedTimeoutDrift_Descrete: each adds its own time, and takes it along', async () => {
    for (const n of [0, 1, 2, 3, 4]) await enter(`a:${String(n)}`);
    await view.expectHorizons(35_000, 40_000, 45_000, 50_000);
    await giveUp('a:2');
    await view.expectHorizons(35_000, 40_000, 45_000);
    expect(await enter('a:3')).toMatchObject({ kind: 'busy' });
    await view.expectHorizons(35_000, 40_000, 45_000);
  });

  it('testLockAcquiredBooleanTimeoutDrift_Descrete: single tries leave the queue alone', async () => {
    const { locks } = open();
    await locks.acquire('a', { leaseTimeMs: 200 });
    for (let i = 0; i < 3; i += 1) expect(await locks.tryAcquire('a')).toBeNull();
    expect(await redis.admin.keys('*')).toEqual(['a']);
    await eventually(async () => (await locks.tryAcquire('a')) !== null);
  });

  it('testAbandonedTimeoutDrift_Descrete: a third gets in after two have gone away silently', async () => {
    await view.enter({ owner: 'a:0', leaseMs: 100 });
    for (const owner of ['dead:1', 'dead:2']) await view.enter({ owner, aliveMs: 150 });
    const stopwatch = new Stopwatch();
    const { locks } = open({ pollIntervalMs: 50 });
    await (await locks.acquire('a')).release();
    expect(stopwatch.ms).toBeLessThan(5 * 200 + PROMPT_MS);
  });

  it('testTryLockNonDelayed: a wait in vain stops nobody afterwards', async () => {
    const [ours, others] = [open(), open()];
    const lease = await ours.locks.acquire('a');
    expect(await others.locks.tryAcquire('a', { waitTimeMs: 400 })).toBeNull();
    await lease.release();
    const stopwatch = new Stopwatch();
    await (await ours.locks.acquire('a')).release();
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('testAcquireFailedNotCalledOnRedisTimeout: a Redis that stands still leaves nobody queued', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    const waiter = await view.enqueue(locks, { waitTimeMs: 200 });
    redis.pause();
    await expect(waiter.promise).rejects.toMatchObject({ lockName: 'a' });
    redis.resume();
    await eventually(async () => (await view.queue()).length === 0);
    await lease.release();
    await expect(locks.acquire('a', { waitTimeMs: 0 })).resolves.toMatchObject({ state: 'held' });
  });

  it('testAcquireFailedNotCalledOnRedisTimeout: a pause that ends in time is no error', async () => {
    const [holder, ours] = [open(), open()];
    const lease = await holder.locks.acquire('a');
    const waiter = await view.enqueue(ours.locks, { waitTimeMs: 15_000 });
    await redis.admin.client('PAUSE', 500);
    const releasing = lease.release();
    await (await waiter.promise).release();
    await releasing;
    expect(await redis.admin.exists('a', ...Object.values(view.keys))).toBe(0);
  });

  it('gives up with an error that tells how long the others have it', async () => {
    const { locks } = open();
    await locks.acquire('a');
    await view.enqueue(locks);
    const error = await locks.acquire('a', { waitTimeMs: 400 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect((error as LockTimeoutError).retryAfterMs).toBeGreaterThan(LEASE_MS - SLACK_MS);
  });
});
