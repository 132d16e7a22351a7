import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockBackendError,
  LockService,
  LockStateError,
  LockTimeoutError,
} from 'nestjs-redis-lock';
import { RENEW } from '../../libs/redis-lock/src/core/lua/hash-lock.js';
import { PROMPT_MS, roundTrips, watch } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import { redisson } from '../support/redisson.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

/**
 * Defects of other libraries that concern a single lock, as numbered in a survey of twenty of them.
 * Those of several nodes, of semaphores and of decorators are elsewhere.
 */
describe('LockService does not repeat the defects of its peers', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => new LockService(context));

  it('2: validity begins with the attempt that was granted, not before the wait for it', async () => {
    const [ours, others] = [open(), open()];
    await others.locks.acquire('a', { leaseTimeMs: 600 });
    const lease = await ours.locks.acquire('a', { leaseTimeMs: 2_000 });
    expect(lease.remainingMs).toBeGreaterThan(1_500);
    await lease.renew(1_000);
    lease.assertHeld();
  });

  it('3: a slow answer gives no lock of which nothing is left', async () => {
    const { locks } = open({ connection: proxy.current.url });
    await (await locks.acquire('a')).release();
    const slow = proxy.current.hold('toClient');
    const acquiring = locks.acquire('a', { leaseTimeMs: 100 });
    await eventually(() => slow.hits > 0);
    await eventually(async () => (await redis.admin.exists('a')) === 0);
    slow.heal();
    const lease = await acquiring;
    expect(lease.remainingMs).toBeGreaterThan(0);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
  });

  it('4: a lost lock replaces neither the result nor the error of the work by a later error', async () => {
    const { locks } = open();
    const stopwatch = new Stopwatch();
    const lost = async () => {
      await redis.admin.del('a');
      return 42;
    };
    await expect(locks.using('a', lost)).rejects.toMatchObject({ result: 42 });
    const broken = async () => {
      await redis.admin.del('a');
      throw new TypeError('of the routine');
    };
    await expect(locks.using('a', broken)).rejects.toThrow(TypeError);
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('5: busy, broken, lost and misused are four errors', async () => {
    const [ours, others] = [open(), open()];
    await others.locks.acquire('busy');
    const lost = await ours.locks.acquire('lost');
    await redis.admin.del('lost');
    await redis.admin.set('misused', 1);
    const errors = [
      await ours.locks.acquire('busy', { waitTimeMs: 400 }).catch((e: unknown) => e),
      await lost.release().catch((e: unknown) => e),
      await ours.locks.acquire('misused').catch((e: unknown) => e),
    ];
    redis.pause();
    errors.push(await ours.locks.acquire('broken', { waitTimeMs: 20 }).catch((e: unknown) => e));
    redis.resume();
    const classes = [LockTimeoutError, LeaseLostError, LockStateError, LockBackendError];
    expect(errors.map((error) => (error as Error).constructor)).toEqual(classes);
  });

  it('6: no waiting time is no waiting time, and not a default', async () => {
    const [ours, others] = [open({ waitTimeMs: 60_000 }), open()];
    await others.locks.acquire('a');
    const stopwatch = new Stopwatch();
    await expect(ours.locks.acquire('a', { waitTimeMs: 0 })).rejects.toThrow(LockTimeoutError);
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('8, 18, 26: a renewal that fails is tried again in measure, and one failure ends nothing', async () => {
    const client = open({ leaseTimeMs: 1_200 });
    const lease = await client.locks.acquire('a');
    const stopwatch = new Stopwatch();
    await redis.admin.config('SET', 'min-replicas-to-write', 1);
    await eventually(() => client.eventsOf('renewal-failed').length >= 2);
    await redis.admin.config('SET', 'min-replicas-to-write', 0);
    await eventually(() => lease.state === 'held');
    // A quarter of the interval lies between two tries.
    expect(client.eventsOf('renewal-failed').length).toBeLessThanOrEqual(
      stopwatch.realMs / 100 + 1,
    );
    const renewals = client.eventsOf('renewed').length;
    await eventually(() => client.eventsOf('renewed').length >= renewals + 2);
    lease.assertHeld();
  });

  it('9: a lock that cannot be renewed says so, and no rejection goes unhandled', async () => {
    const client = open({ leaseTimeMs: 400 });
    const lease = await client.locks.acquire('a');
    const { signal } = lease;
    await redis.admin.del('a');
    await eventually(() => signal.aborted);
    expect(lease.state).toBe('lost');
    const unreachable = await client.locks.acquire('b');
    redis.pause();
    await eventually(() => unreachable.state === 'lost');
    redis.resume();
    expect(client.eventsOf('lost')).toHaveLength(2);
  });

  it('10: a caller with a short lease evicts nobody with a long one', async () => {
    const [ours, others] = [open(), open()];
    const lease = await ours.locks.acquire('a', { leaseTimeMs: 60_000 });
    const short = { leaseTimeMs: 20, waitTimeMs: 400 };
    await expect(others.locks.acquire('a', short)).rejects.toThrow(LockTimeoutError);
    expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
  });

  it('11: one lock object is not acquired as often as anybody likes', async () => {
    const { locks } = open();
    const lock = locks.get('a');
    const lease = await lock.acquire();
    expect(await lock.tryAcquire()).toBeNull();
    await lease.release();
    expect(await lock.tryAcquire()).not.toBeNull();
  });

  it('13: waiters do not poll every few milliseconds', async () => {
    const { locks } = open();
    await redisson.tryLock(redis.admin, 'a');
    await expect(locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    const sent = await redis.commandsDuring(() =>
      expect(locks.acquire('a', { waitTimeMs: 600 })).rejects.toThrow(LockTimeoutError),
    );
    // The attempt, the one after the subscription, and perhaps one poll.
    expect(sent.evalsha).toBeLessThanOrEqual(3);
  });

  it('15: the shortest lease is not renewed in a busy loop', async () => {
    const client = open({ leaseTimeMs: 100 });
    const renewals = () => client.eventsOf('renewed').length;
    const stopwatch = new Stopwatch();
    let lease = await client.locks.acquire('a');
    await eventually(async () => {
      // A slow machine loses it: no more than 67 ms lie between a renewal and the end of the lease.
      if (lease.state === 'lost') lease = await client.locks.acquire('a');
      return renewals() >= 10 && lease.state === 'held';
    });
    lease.assertHeld();
    expect(renewals()).toBeLessThanOrEqual(stopwatch.realMs / (100 / 3) + 3);
  });

  it('16: a renewal on its way when the work ends arms nothing, and prolongs nothing later', async () => {
    const client = open({ connection: proxy.current.url, leaseTimeMs: 900 });
    await client.locks.using('a', () => eventually(() => client.eventsOf('renewed').length > 0));
    const slow = proxy.current.hold('toServer', { containing: RENEW.sha1 });
    const working = client.locks.using('a', () => eventually(() => slow.hits > 0));
    await eventually(() => slow.hits > 0);
    slow.heal();
    await working;
    const renewals = client.eventsOf('renewed').length;
    const next = await open().locks.acquire('a', { leaseTimeMs: 300 });
    await eventually(() => next.state === 'lost');
    expect(client.eventsOf('renewed')).toHaveLength(renewals);
    expect(client.eventsOf('renewal-failed')).toEqual([]);
  });

  it('17: what is still held can be renewed, however little is left', async () => {
    const { locks } = open();
    const lease = await eventually(async () => {
      const short = await locks.acquire('a', { leaseTimeMs: 400 });
      await eventually(() => short.remainingMs < 100, { everyMs: 1 });
      // A slow machine has lost it by now: then the next one shows it.
      await short.renew(10_000);
      return short;
    });
    expect(lease.remainingMs).toBeGreaterThan(5_000);
  });

  it('19: nobody is told "not locked" when Redis cannot be asked', async () => {
    const { locks } = open();
    await locks.get('a').isLocked();
    redis.pause();
    await expect(locks.get('a').isLocked()).rejects.toThrow(LockBackendError);
    redis.resume();
  });

  it('20: a request that landed after its caller had given up does not shut out the caller', async () => {
    const { locks } = open();
    await locks.get('a').isLocked();
    redis.pause();
    await expect(locks.acquire('a', { waitTimeMs: 30 })).rejects.toThrow(LockBackendError);
    redis.resume();
    const stopwatch = new Stopwatch();
    await (await locks.acquire('a')).release();
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('23: a waiter does not give up when the lease of the dead holder ends', async () => {
    const { locks } = open();
    await redisson.tryLock(redis.admin, 'a', 200);
    const lease = await locks.tryAcquire('a', { waitTimeMs: 5_000 });
    expect(lease).not.toBeNull();
  });

  it('24: a release between the attempt and the subscription wakes within 50 ms', async () => {
    const { locks } = open({ connection: proxy.current.url, pollIntervalMs: 60_000 });
    await redisson.tryLock(redis.admin, 'a', 6_000);
    const subscription = proxy.current.hold('toServer', { containing: 'subscribe' });
    const waiting = locks.acquire('a');
    await eventually(() => subscription.hits > 0);
    await redisson.unlock(redis.admin, 'a');
    subscription.heal();
    const stopwatch = new Stopwatch();
    await waiting;
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('25: a waiter that gives up takes the channel from no other', async () => {
    const { locks } = open({ pollIntervalMs: 60_000 });
    await redisson.tryLock(redis.admin, 'a');
    const short = locks.acquire('a', { waitTimeMs: 400 });
    const long = watch(locks.acquire('a', { waitTimeMs: 60_000 }));
    await expect(short).rejects.toThrow(LockTimeoutError);
    await roundTrips(redis, 3);
    const stopwatch = new Stopwatch();
    await redisson.unlock(redis.admin, 'a');
    await long.promise;
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
  });

  it('27: two users of one lock object keep their own leases', async () => {
    const { locks } = open();
    const lock = locks.get('a');
    const short = await lock.acquire({ leaseTimeMs: 5_000 });
    await short.release();
    const watched = await lock.acquire();
    expect(await lock.remainingTimeMs()).toBeGreaterThan(25_000);
    await short.release();
    watched.assertHeld();
    await watched.release();
  });

  it('a waiter that gave up runs no release: the holder keeps its lock', async () => {
    const [holder, waiter, third] = [open(), open(), open()];
    const lease = await holder.locks.acquire('a');
    await expect(waiter.locks.using('a', () => 1, { waitTimeMs: 400 })).rejects.toThrow(
      LockTimeoutError,
    );
    expect(await third.locks.tryAcquire('a')).toBeNull();
    lease.assertHeld();
  });

  it('a name with quotes is a name like any other, also in a message', async () => {
    const [ours, others] = [open({ pollIntervalMs: 60_000 }), open()];
    const name = '"],["a\':$(\\';
    const lease = await others.locks.acquire(name);
    const waiting = ours.locks.acquire(name, { waitTimeMs: 60_000 });
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    await lease.release();
    await (await waiting).release();
  });

  it('a token is taken in the step that takes the lock, so that no stalled holder has a later one', async () => {
    const clients = Array.from({ length: 10 }, () => open());
    const tokens: number[] = [];
    await Promise.all(
      clients.map(({ locks }) =>
        locks.using('a', ({ fencingToken = NaN }) => tokens.push(fencingToken), { fenced: true }),
      ),
    );
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(10);
  });

  it('an acquisition sends no PING, and a lock object costs nothing', async () => {
    const { locks } = open();
    await (await locks.acquire('a')).release();
    const sent = await redis.commandsDuring(async () => {
      for (let i = 0; i < 100; i += 1) locks.get(`a${i}`);
      await (await locks.acquire('a')).release();
    });
    expect(sent.ping).toBeUndefined();
    expect(sent.evalsha).toBe(2);
  });
});
