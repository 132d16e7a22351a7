import { expect, it } from '@jest/globals';
import { LockShutdownError, LockTimeoutError } from 'nestjs-redis-lock/core';
import type { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import { Stopwatch } from '../support/stopwatch.js';
import { describeCapacityOption } from './capacity.contract.js';
import { PROMPT_MS, roundTrips, watch, type Stage } from './suite.js';

const LONG_MS = 60_000;

/** Waiting for permits of a counting semaphore, as far as it takes no real server to show. */
export function describeCountingBehaviour({
  redis,
  open,
}: {
  readonly redis: Stage;
  readonly open: OpenLocks<CountingSemaphores>;
}): void {
  describeCapacityOption({ redis, open }, (locks, capacity) => {
    const { acquire, tryAcquire, trySetPermits } = locks.get('a', capacity);
    return { trySetPermits, acquire: (options) => acquire(1, options), tryAcquire };
  });

  const semaphoreOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const listening = (count = 1) =>
    eventually(async () => (await redis.wakeUpChannels()).length === count);
  const free = async () => Number(await redis.admin.get('a'));

  it('lets in as many as there are permits, and the next when one is released', async () => {
    // Only a message can be that quick.
    const [first, second] = [semaphoreOf(), semaphoreOf({ pollIntervalMs: LONG_MS })];
    await first.trySetPermits(2);
    await first.acquire();
    await second.acquire();
    const waiting = watch(second.acquire(1, { waitTimeMs: LONG_MS }));
    await listening();
    await roundTrips(redis, 5);
    expect(waiting.state).toBe('pending');
    const sinceRelease = new Stopwatch();
    await first.release();
    await waiting.promise;
    expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    expect(await free()).toBe(0);
  });

  it('rejects when time is over, and takes nothing', async () => {
    const client = open();
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(2);
    const stopwatch = new Stopwatch();
    const error: unknown = await semaphore.acquire(3, { waitTimeMs: 400 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', lockName: 'a', blockedBy: 'other' });
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
    expect(await free()).toBe(2);
    expect(client.eventsOf('timed-out')).toHaveLength(1);
  });

  it('waits for the waitTimeMs of the module unless told otherwise', async () => {
    const semaphore = semaphoreOf({ waitTimeMs: 400 });
    const stopwatch = new Stopwatch();
    await expect(semaphore.acquire()).rejects.toThrow(LockTimeoutError);
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
  });

  it('tries once, or for as long as it is told, and answers false', async () => {
    const client = open();
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(2);
    expect(await semaphore.tryAcquire(2)).toBe(true);
    const stopwatch = new Stopwatch();
    expect(await semaphore.tryAcquire()).toBe(false);
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    expect(client.eventsOf('timed-out')).toEqual([]);
    expect(await semaphore.tryAcquire(1, { waitTimeMs: 400 })).toBe(false);
    expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
    const waiting = semaphore.tryAcquire(2, { waitTimeMs: LONG_MS });
    await semaphore.release(2);
    expect(await waiting).toBe(true);
  });

  it('serves the callers of one process first come, first served, the greedy too', async () => {
    const semaphore = semaphoreOf();
    const order: string[] = [];
    const greedy = semaphore.acquire(5, { waitTimeMs: LONG_MS }).then(() => order.push('greedy'));
    const modest = Array.from({ length: 5 }, (_, i) =>
      semaphore.acquire(1, { waitTimeMs: LONG_MS }).then(() => order.push(`modest ${i}`)),
    );
    await listening();
    await semaphore.release(4);
    await roundTrips(redis, 5);
    expect(order).toEqual([]);
    // A later caller does not overtake the waiters.
    expect(await semaphore.tryAcquire()).toBe(false);
    await semaphore.release(6);
    await Promise.all([greedy, ...modest]);
    expect(order).toEqual(['greedy', ...[0, 1, 2, 3, 4].map((i) => `modest ${i}`)]);
    expect(await free()).toBe(0);
  });

  it('rejects with the reason of its signal, at once and untouched, and takes nothing', async () => {
    const semaphore = semaphoreOf();
    for (const waitTimeMs of [LONG_MS, Infinity]) {
      const abort = new AbortController();
      const waiting = watch(semaphore.acquire(1, { signal: abort.signal, waitTimeMs }));
      await roundTrips(redis, 2);
      const reason = new Error('no time');
      abort.abort(reason);
      await expect(waiting.promise).rejects.toBe(reason);
    }
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    await listening(0);
  });

  it('releases what it got when its signal aborts in the same turn', async () => {
    const { locks, connection } = open();
    const semaphore = locks.get('a');
    await semaphore.trySetPermits(5);
    const run = connection.run.bind(connection);
    let answered: () => void = () => undefined;
    connection.run = async (...call) => {
      const reply = await run(...call);
      answered();
      return reply;
    };
    for (let hops = 0; hops < 20; hops += 1) {
      const abort = new AbortController();
      const hop = (left: number) =>
        queueMicrotask(() => (left === 0 ? abort.abort(new Error('no time')) : hop(left - 1)));
      answered = () => hop(hops);
      const acquiring = semaphore.acquire(2, { signal: abort.signal });
      await acquiring.then(
        () => semaphore.release(2),
        (error: unknown) => expect(error).toBe(abort.signal.reason),
      );
      await eventually(async () => (await free()) === 5);
    }
  });

  it.each([
    [1, 1],
    [4, 1],
    [4, 3],
  ])('never lets in more than there are: %d clients, %d permits', async (clients, permits) => {
    const semaphores = Array.from({ length: clients }, () => semaphoreOf());
    await semaphores[0]?.trySetPermits(permits);
    const inside = { now: 0, most: 0, sections: 0 };
    const work = async (semaphore: (typeof semaphores)[number]) => {
      for (let round = 0; round < 10; round += 1) {
        await semaphore.acquire(1, { waitTimeMs: LONG_MS });
        inside.now += 1;
        inside.sections += 1;
        inside.most = Math.max(inside.most, inside.now);
        await roundTrips(redis, 1);
        inside.now -= 1;
        await semaphore.release();
      }
    };
    await Promise.all([...semaphores, ...semaphores].map(work));
    expect(inside).toMatchObject({ now: 0, sections: 20 * clients });
    expect(inside.most).toBeLessThanOrEqual(permits);
    expect(await free()).toBe(permits);
  });

  it('sends nothing for a signal that is aborted already', async () => {
    const semaphore = semaphoreOf();
    await semaphore.availablePermits();
    const reason = new Error('too late');
    const sent = await redis.commandsDuring(() =>
      expect(semaphore.acquire(1, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason),
    );
    expect(sent).toEqual({});
  });

  it('rejects when the application closes, waiting or asked later; a release goes through', async () => {
    const client = open();
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const waiting = watch(semaphore.acquire(1, { waitTimeMs: Infinity }));
    await roundTrips(redis, 2);
    client.context.refuse();
    await expect(waiting.promise).rejects.toThrow(LockShutdownError);
    await expect(semaphore.tryAcquire()).rejects.toThrow(LockShutdownError);
    await semaphore.release();
    expect(await free()).toBe(1);
  });
}
