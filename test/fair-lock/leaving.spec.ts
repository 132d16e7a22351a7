import { describe, expect, it } from '@jest/globals';
import { LockShutdownError, LockStateError, LockTimeoutError } from 'nestjs-redis-lock/core';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import { eventually, PROMPT_MS, Stopwatch, useClients, watch } from '../support/set-up.js';
import { FairView, SLACK_MS } from './fair-view.js';

describe('who leaves the queue of a fair lock', () => {
  const { redis, open } = useClients(FairLockService);
  const view = new FairView(redis, 'a');
  const { queue, timeouts, waiting } = view.keys;

  const expectEmptyQueue = () =>
    eventually(async () => (await redis.admin.exists(queue, timeouts, waiting)) === 0, {
      withinMs: PROMPT_MS,
    });

  /** A connection answers in order: after this one, its waiters have heard what they asked before. */
  const everyAnswerIsIn = (locks: FairLockService) => locks.get('a').isLocked();

  it('is out of it at once when its time is over', async () => {
    const { locks } = open();
    await locks.acquire('a');
    await expect(locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    await expectEmptyQueue();
  });

  it('is out of it at once when it is aborted', async () => {
    const { locks } = open();
    await locks.acquire('a');
    const abort = new AbortController();
    const waiter = await view.enqueue(locks, { signal: abort.signal, waitTimeMs: Infinity });
    abort.abort(new Error('no time'));
    await expect(waiter.promise).rejects.toThrow('no time');
    await expectEmptyQueue();
  });

  it('is out of it when its process closes, though another lock has the name of its owner', async () => {
    const [ours, others] = [open(), open()];
    await others.locks.acquire('a');
    const [client, number] = (await ours.locks.acquire('b')).owner.split(':');
    const waiter = await view.enqueue(ours.locks, { waitTimeMs: Infinity });
    await ours.locks.using(`${String(client)}:${String(Number(number) + 1)}`, () => undefined);
    await ours.close();
    await expect(waiter.promise).rejects.toThrow(LockShutdownError);
  });

  it('is out of it when its process closes, with all the others of that process', async () => {
    const rarely = { pollIntervalMs: 60_000 };
    const [ours, others] = [open(rarely), open(rarely)];
    const lease = await others.locks.acquire('a');
    await redis.resetCommandStats();
    const leaving = Array.from({ length: 50 }, () => watch(ours.locks.acquire('a')));
    const staying = watch(others.locks.acquire('a'));
    // Each asks once more when its subscription stands, and each time for the time.
    await eventually(async () => ((await redis.commandStats()).time ?? 0) >= 2 * 51);
    await everyAnswerIsIn(ours.locks);
    const sent = await redis.commandsDuring(() => ours.close());
    // From the end on: else each of them would change the scores of all behind it.
    expect(sent.zadd ?? 0).toBeLessThanOrEqual(50);
    for (const { promise } of leaving) await expect(promise).rejects.toThrow(LockShutdownError);
    expect(await view.queue()).toHaveLength(1);
    expect((await view.horizons())[0]).toBeLessThanOrEqual(40_000);
    await lease.release();
    await (await staying.promise).release();
  });

  it('is out of it with all who share its signal, the last of them first', async () => {
    const { locks } = open({ pollIntervalMs: 60_000 });
    await locks.acquire('a');
    const abort = new AbortController();
    await redis.resetCommandStats();
    const leaving = Array.from({ length: 50 }, () =>
      watch(locks.acquire('a', { signal: abort.signal })),
    );
    // Each asks once more when its subscription stands, and each time for the time.
    await eventually(async () => ((await redis.commandStats()).time ?? 0) >= 2 * 50);
    await everyAnswerIsIn(locks);
    const sent = await redis.commandsDuring(async () => {
      abort.abort(new Error('no time'));
      await expectEmptyQueue();
    });
    expect(sent.zadd ?? 0).toBe(0);
    for (const { promise } of leaving) await expect(promise).rejects.toThrow('no time');
  });

  it('never takes the lock along: the next one gets it at once, of ours or of Java', async () => {
    const { locks } = open();
    const clients = [open({ pollIntervalMs: 60_000 }), open({ pollIntervalMs: 60_000 })];
    await locks.acquire('a');
    const abort = new AbortController();
    const [head, next] = [
      await view.enqueue(clients[0]?.locks ?? locks, { signal: abort.signal }),
      await view.enqueue(clients[1]?.locks ?? locks),
    ];
    await view.allWaitersListen();
    // The head gets no message that the lock is free, and then it leaves.
    await redis.admin.del('a');
    const sinceLeave = new Stopwatch();
    abort.abort(new Error('no time'));
    await expect(head.promise).rejects.toThrow('no time');
    await (await next.promise).release();
    expect(sinceLeave.ms).toBeLessThan(PROMPT_MS);
  });

  it('leaves no trace after one attempt, and none after an attempt in vain', async () => {
    const { locks } = open();
    await locks.acquire('a');
    expect(await locks.tryAcquire('a')).toBeNull();
    await expect(locks.acquire('a', { waitTimeMs: 0 })).rejects.toThrow(LockTimeoutError);
    expect(await redis.admin.keys('*')).toEqual(['a']);
  });

  it('testAcquireFailedNotCalledOnRedisTimeout: a Redis that stands still leaves no waiter queued', async () => {
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
    expect((error as LockTimeoutError).retryAfterMs).toBeGreaterThan(30_000 - SLACK_MS);
  });

  describe('because something else is where the queue should be', () => {
    it.each([queue, timeouts, waiting])('is told so, and nothing is changed: %s', async (key) => {
      const { locks } = open();
      const lease = await locks.acquire('a');
      await redis.admin.set(key, 'something else');
      await expect(locks.acquire('a')).rejects.toThrow(LockStateError);
      expect(await redis.admin.get(key)).toBe('something else');
      lease.assertHeld();
      await lease.release();
      expect(await redis.admin.exists('a')).toBe(0);
      await redis.admin.del(queue, timeouts, waiting);
    });

    it('is told so when the key of the lock becomes something else while it waits', async () => {
      const { locks } = open({ pollIntervalMs: 50 });
      await locks.acquire('a', { leaseTimeMs: 60_000 });
      const waiter = await view.enqueue(locks);
      await redis.admin.set('a', 'something else');
      await expect(waiter.promise).rejects.toThrow(LockStateError);
      await expectEmptyQueue();
      expect(await redis.admin.get('a')).toBe('something else');
    });

    it.each(['garbage', '1', '1 2 3', '1 2 3 4', '-1 2', '1+ 2x', ''])(
      'goes on with records that say %p',
      async (record) => {
        const { locks } = open({ pollIntervalMs: 50 });
        const lease = await locks.acquire('a');
        const waiter = await view.enqueue(locks);
        await redis.admin.hset(waiting, waiter.owner, record);
        await eventually(async () =>
          /^\d+ \d+( [0-9a-f]{32} \d+ s)?$/.test((await view.records())[waiter.owner] ?? ''),
        );
        await lease.release();
        await (await waiter.promise).release();
      },
    );
  });

  it.each([0, -1, 1.5, NaN, Infinity, '1000', 86_400_001])(
    'refuses a fairLockWaitTimeMs of %p',
    (fairLockWaitTimeMs) => {
      expect(() => open({ fairLockWaitTimeMs } as never)).toThrow('fairLockWaitTimeMs must be');
    },
  );
});
