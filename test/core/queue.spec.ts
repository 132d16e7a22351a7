import { describe, expect, it } from '@jest/globals';
import {
  LockBackendError,
  LockService,
  LockStateError,
  LockTimeoutError,
  type LockError,
} from 'nestjs-redis-lock/core';
import { PROMPT_MS, roundTrips, Section, watch } from '../contract/suite.js';
import { eventually, redisson, seededRandom, Stopwatch, useClients } from '../support/set-up.js';

describe('LockService with many callers in one process', () => {
  const { redis, open } = useClients(LockService);

  /** A client of which the server knows all scripts. */
  const opened = async (settings: Parameters<typeof open>[0] = {}) => {
    const client = open(settings);
    await (await client.locks.acquire('warm')).release();
    return client;
  };

  it('sends one contender for 100 waiters of a key: a handful of scripts while they wait', async () => {
    const { locks } = await opened({ pollIntervalMs: 200 });
    await redisson.tryLock(redis.admin, 'a');
    await redis.resetCommandStats();
    const stopwatch = new Stopwatch();
    const served: number[] = [];
    const waiting = Array.from({ length: 100 }, (_, i) =>
      locks.using('a', () => served.push(i), { waitTimeMs: 60_000 }),
    );
    await eventually(() => stopwatch.realMs > 1_000);
    const { evalsha = 0, subscribe } = await redis.commandStats();
    const polls = stopwatch.realMs / 200;
    expect(evalsha).toBeLessThanOrEqual(2 * polls + 2);
    expect(subscribe).toBe(1);

    const handingOver = await redis.commandsDuring(async () => {
      await redisson.unlock(redis.admin, 'a');
      await Promise.all(waiting);
    });
    expect(served).toEqual(Array.from({ length: 100 }, (_, i) => i));
    // Each section is one script to acquire and one to release.
    expect(handingOver.evalsha).toBeLessThanOrEqual(2 * 100 + 10);
  });

  it('answers 1,000 tries at once with one script, whether the lock is free or not', async () => {
    const { locks } = await opened();
    const storm = () => Promise.all(Array.from({ length: 1_000 }, () => locks.tryAcquire('a')));
    let leases: Awaited<ReturnType<typeof storm>> = [];
    const whenFree = await redis.commandsDuring(async () => (leases = await storm()));
    const won = leases.filter((lease) => lease !== null);
    expect(won).toHaveLength(1);
    expect(whenFree.evalsha).toBe(1);
    const stopwatch = new Stopwatch();
    const whenHeld = await redis.commandsDuring(async () => (leases = await storm()));
    expect(stopwatch.ms).toBeLessThan(5 * PROMPT_MS);
    expect(leases.every((lease) => lease === null)).toBe(true);
    expect(whenHeld.evalsha).toBe(1);
    await won[0]?.release();
    expect(await locks.tryAcquire('a')).not.toBeNull();
  });

  it('answers a try at once while others wait in the queue', async () => {
    const { locks } = await opened({ pollIntervalMs: 60_000 });
    const lease = await locks.acquire('a');
    await redis.resetCommandStats();
    const waiting = locks.acquire('a');
    // It asks when it comes, and when it is subscribed.
    await eventually(async () => (await redis.commandStats()).evalsha === 2);
    const sent = await redis.commandsDuring(async () => {
      expect(await locks.tryAcquire('a')).toBeNull();
      await expect(locks.acquire('a', { waitTimeMs: 0 })).rejects.toThrow(LockTimeoutError);
    });
    expect(sent.evalsha).toBeUndefined();
    await lease.release();
    await (await waiting).release();
  });

  it('asks separately for each key, and keeps none waiting for another', async () => {
    const { locks } = await opened();
    await redisson.tryLock(redis.admin, 'held');
    const stuck = watch(locks.acquire('held', { waitTimeMs: Infinity }));
    const names = Array.from({ length: 200 }, (_, i) => `free:${i}`);
    const leases = await Promise.all(names.map((name) => locks.acquire(name)));
    expect(new Set(leases.map(({ owner }) => owner)).size).toBe(200);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(stuck.state).toBe('pending');
    await redisson.unlock(redis.admin, 'held');
    await (await stuck.promise).release();
  });

  it('keeps the order of those that stay when others leave', async () => {
    const random = seededRandom('queue');
    const { locks } = await opened();
    const lease = await locks.acquire('a');
    const order: number[] = [];
    const stay: number[] = [];
    const leaving: Promise<unknown>[] = [];
    const abort = new AbortController();
    const callers = Array.from({ length: 60 }, (_, i) => {
      const leaves = random.pick(['never', 'abort', 'timeout'] as const);
      const options = {
        waitTimeMs: leaves === 'timeout' ? 20 : 30_000,
        ...(leaves === 'abort' && { signal: abort.signal }),
      };
      const call = locks.using('a', () => order.push(i), options).catch(() => 'left');
      if (leaves === 'never') stay.push(i);
      else leaving.push(call);
      return call;
    });
    await roundTrips(redis, 3);
    abort.abort();
    await Promise.all(leaving);
    await lease.release();
    await Promise.all(callers);
    expect(order).toEqual(stay);
  });

  it('does not let one caller that fails stop the others', async () => {
    const { locks } = await opened();
    await redis.admin.set('a', 'stock');
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => locks.acquire('a')));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: expect.any(LockStateError) as unknown,
      });
    }
    await redis.admin.config('SET', 'maxmemory', 1);
    const full = await Promise.allSettled([1, 2, 3].map(() => locks.acquire('b')));
    await redis.admin.config('SET', 'maxmemory', 0);
    for (const outcome of full) {
      expect(outcome).toMatchObject({ reason: expect.any(LockBackendError) as unknown });
    }
    await (await locks.acquire('b')).release();
  });

  it('serves every caller once, in several processes, with unlucky mixtures of all calls', async () => {
    const random = seededRandom('mixture');
    const clients = [await opened(), await opened(), await opened({ pollIntervalMs: 50 })];
    const section = new Section();
    let granted = 0;
    const work = () => section.run(() => (granted += 1) && roundTrips(redis, 1));
    await Promise.all(
      clients.flatMap(({ locks }) =>
        Array.from({ length: 30 }, async () => {
          const options = { waitTimeMs: random.pick([0, 5, 20, 30_000]) };
          const nested = () => locks.using('a', work);
          await locks
            .using('a', random.chance(0.3) ? nested : work, options)
            .catch((error: unknown) => {
              // Five milliseconds may be too short for any answer.
              expect(['LOCK_TIMEOUT', 'LOCK_BACKEND']).toContain((error as LockError).code);
            });
        }),
      ),
    );
    expect(section.most).toBe(1);
    expect(section.entries).toBe(granted);
    expect(granted).toBeGreaterThan(10);
  });
});
