import { describe, expect, it } from '@jest/globals';
import { LockShutdownError, LockTimeoutError } from 'nestjs-redis-lock';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/semaphore/counting-semaphore.js';
import { PROMPT_MS, roundTrips, watch } from '../contract/suite.js';
import { eventually } from '../support/eventually.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import { useRedis } from '../support/redis-server.js';
import { Stopwatch } from '../support/stopwatch.js';

const CHANNEL = 'redisson_sc:{a}';
const LONG_MS = 60_000;

describe('CountingSemaphore: waiting', () => {
  const redis = useRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => new CountingSemaphores(context));

  const semaphoreOf = (settings: Parameters<typeof open>[0] = {}) => open(settings).locks.get('a');
  const listening = (count = 1) => redis.listening(CHANNEL, count);
  const free = async () => Number(await redis.admin.get('a'));

  it('lets in as many as there are permits, and the next when one is given back', async () => {
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
    // Nobody who comes later overtakes those who wait.
    expect(await semaphore.tryAcquire()).toBe(false);
    await semaphore.release(6);
    await Promise.all([greedy, ...modest]);
    expect(order).toEqual(['greedy', ...[0, 1, 2, 3, 4].map((i) => `modest ${i}`)]);
    expect(await free()).toBe(0);
  });

  it('wakes as many as there are permits now by one message', async () => {
    const processes = [1, 2, 3].map(() => semaphoreOf({ pollIntervalMs: LONG_MS }));
    const waiting = processes.map((semaphore) =>
      watch(
        Promise.all(
          Array.from({ length: 10 }, () => semaphore.acquire(1, { waitTimeMs: LONG_MS })),
        ),
      ),
    );
    await listening(3);
    await semaphoreOf().addPermits(30);
    for (const { promise } of waiting) await promise;
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

  it('gives back what it got when its signal aborts in the same turn', async () => {
    const semaphore = semaphoreOf();
    await semaphore.trySetPermits(5);
    for (let round = 0; round < 50; round += 1) {
      const abort = new AbortController();
      const acquiring = watch(semaphore.acquire(2, { signal: abort.signal }));
      for (let turn = 0; turn < round % 5; turn += 1) await roundTrips(redis, 1);
      abort.abort(new Error('no time'));
      await acquiring.promise.then(
        () => semaphore.release(2),
        () => undefined,
      );
    }
    await eventually(async () => (await free()) === 5);
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

  it('gives back permits that were granted after the caller had gone', async () => {
    const client = open({ connection: proxy.current.url });
    const semaphore = client.locks.get('a');
    await semaphore.trySetPermits(100);
    await semaphore.acquire();
    const answers = proxy.current.hold('toClient');
    const abort = new AbortController();
    const calls = Array.from({ length: 30 }, (_, i) =>
      i % 2 === 0
        ? client.locks.get('a').acquire(1, { waitTimeMs: 30 })
        : client.locks.get('a').acquire(1, { signal: abort.signal }),
    );
    const outcomes = Promise.allSettled(calls);
    await eventually(async () => (await free()) < 99);
    abort.abort(new Error('no time'));
    for (const { status } of await outcomes) expect(status).toBe('rejected');
    answers.heal();
    await eventually(async () => (await free()) === 99);
    expect(client.eventsOf('late-grant').length).toBeGreaterThan(0);
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

  it('finds out by its poll when the message is lost', async () => {
    const semaphore = semaphoreOf({ pollIntervalMs: 100, connection: proxy.current.url });
    proxy.current.drop('toClient', {
      where: ({ subscriber }) => subscriber,
      containing: 'message',
    });
    const waiting = semaphore.acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    const sinceRelease = new Stopwatch();
    await semaphoreOf().release();
    await waiting;
    expect(sinceRelease.ms).toBeLessThan(5 * 100 + PROMPT_MS);
  });

  it('finds out by its poll when nobody could be told, and says so', async () => {
    const waiting = semaphoreOf({ pollIntervalMs: 100 }).acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    await redis.admin.acl('SETUSER', 'mute', 'on', 'nopass', '~*', 'resetchannels', '+@all');
    const mute = open({ connection: redis.url.replace('//', '//mute:x@') });
    await mute.locks.get('a').release();
    expect(mute.eventsOf('wake-up-failed')).toMatchObject([{ type: 'wake-up-failed', name: 'a' }]);
    await waiting;
  });

  it('finds out when its message connection is back', async () => {
    const waiting = semaphoreOf({ pollIntervalMs: LONG_MS }).acquire(1, { waitTimeMs: LONG_MS });
    await listening();
    await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await redis.admin.set('a', 1);
    await waiting;
  });

  it('asks twice for each poll at most while it waits', async () => {
    const semaphore = semaphoreOf({ pollIntervalMs: 100 });
    await semaphore.availablePermits();
    const stopwatch = new Stopwatch();
    const sent = await redis.commandsDuring(async () => {
      const waiters = Array.from({ length: 50 }, () =>
        semaphore.tryAcquire(1, { waitTimeMs: 500 }),
      );
      await Promise.all(waiters);
    });
    expect(sent.evalsha).toBeLessThanOrEqual(4 + 2 * (stopwatch.realMs / 80));
  });
});
