import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually, PROMPT_MS, roundTrips, useClients, watch } from '../support/set-up.js';
import { Stopwatch } from '../support/stopwatch.js';

const MARK = 'nestjs_semaphore_waiting:{a}';

describe('a request for many permits at once', () => {
  const { redis, open } = useClients(SemaphoreService);

  const marked = () => eventually(async () => (await redis.admin.exists(MARK)) === 1);
  const listeners = async () => (await redis.admin.pubsub('CHANNELS')).length;
  /** The semaphore has 4 permits, 2 of them in use, and a waiter for 3. */
  const withLargeWaiter = async (settings: Parameters<typeof open>[0] = {}) => {
    const [holder, large, small] = [open(), open(settings), open({ pollIntervalMs: 60_000 })];
    const semaphore = holder.locks.get('a');
    await semaphore.setPermits(4);
    const leases = [await semaphore.acquire(), await semaphore.acquire()];
    const abort = new AbortController();
    const waiting = watch(large.locks.get('a').acquire({ permits: 3, signal: abort.signal }));
    await marked();
    return { semaphore, leases, waiting, abort, large, small: small.locks.get('a') };
  };

  it('does not starve behind small ones of other processes that come all the time', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(4);
    const stream = { isOn: true, sections: 0 };
    const small = Array.from({ length: 3 }, () => open().locks.get('a')).flatMap((locks) =>
      Array.from({ length: 4 }, async () => {
        while (stream.isOn) {
          await locks.using(() => roundTrips(redis, 2));
          stream.sections += 1;
        }
      }),
    );
    await eventually(() => stream.sections > 20);
    for (let round = 0; round < 3; round += 1) {
      const before = stream.sections;
      await semaphore.using(() => undefined, { permits: 4 });
      await eventually(() => stream.sections > before);
    }
    stream.isOn = false;
    await Promise.all(small);
  });

  it('keeps out callers that would take from it, until it is in', async () => {
    const { leases, waiting, small } = await withLargeWaiter();
    expect(await small.tryAcquire()).toBeNull();
    const next = small.acquire({ waitTimeMs: 60_000 });
    await eventually(async () => (await listeners()) === 1);
    await leases[0]?.release();
    const lease = await waiting.promise;
    expect(lease.permitIds).toHaveLength(3);
    expect(await redis.admin.exists(MARK)).toBe(0);
    await leases[1]?.release();
    (await next).assertHeld();
  });

  it('lets others in who leave enough for it as well', async () => {
    const { semaphore, waiting, small } = await withLargeWaiter({ pollIntervalMs: 60_000 });
    await eventually(async () => (await listeners()) === 1);
    await roundTrips(redis, 3);
    // Now there are as many as the waiter wants, and 1 more; no message was published yet.
    await redis.admin.incrby('a', 2);
    expect(await small.tryAcquire()).not.toBeNull();
    expect(await small.tryAcquire()).toBeNull();
    expect(waiting.state).toBe('pending');
    await semaphore.addPermits(1);
    (await waiting.promise).assertHeld();
  });

  it.each([
    ['gives up', { waitTimeMs: 400 }, () => undefined],
    [
      'is aborted',
      {},
      (abort: AbortController) => {
        abort.abort();
      },
    ],
  ])(
    'wakes those it has kept out when it %s',
    async (_, { waitTimeMs }: { waitTimeMs?: number }, end) => {
      const [holder, large, small] = [open(), open(), open({ pollIntervalMs: 60_000 })];
      const semaphore = holder.locks.get('a');
      await semaphore.setPermits(4);
      await semaphore.acquire({ permits: 2 });
      const abort = new AbortController();
      const { signal } = abort;
      const waiting = watch(large.locks.get('a').acquire({ permits: 3, signal, waitTimeMs }));
      await marked();
      const next = small.locks.get('a').acquire({ waitTimeMs: 60_000 });
      await eventually(async () => (await listeners()) === 1);
      end(abort);
      await waiting.promise.catch(() => undefined);
      const sinceEnd = new Stopwatch();
      (await next).assertHeld();
      expect(sinceEnd.ms).toBeLessThan(PROMPT_MS);
      expect(await redis.admin.exists(MARK)).toBe(0);
    },
  );

  it('keeps others out for three polls at most when its process is dead', async () => {
    const connection = new Redis(redis.url);
    const { small, waiting } = await withLargeWaiter({ connection, pollIntervalMs: 200 });
    expect(await redis.admin.pttl(MARK)).toBeLessThanOrEqual(600);
    connection.disconnect();
    const sinceEnd = new Stopwatch();
    await eventually(async () => (await small.tryAcquire()) !== null);
    expect(sinceEnd.ms).toBeLessThan(600 + PROMPT_MS);
    await expect(waiting.promise).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
  });

  it('keeps its mark for as long as it waits, by its polls', async () => {
    const { small, waiting, abort } = await withLargeWaiter({ pollIntervalMs: 100 });
    const stopwatch = new Stopwatch();
    while (stopwatch.realMs < 700) {
      expect(await small.tryAcquire()).toBeNull();
      expect(await redis.admin.exists(MARK)).toBe(1);
    }
    abort.abort();
    await waiting.promise.catch(() => undefined);
  });

  it('leaves no mark when it does not wait, nor when it wants one permit only', async () => {
    const semaphore = open().locks.get('a');
    await semaphore.setPermits(3);
    await semaphore.acquire({ permits: 3 });
    expect(await open().locks.get('a').tryAcquire({ permits: 2 })).toBeNull();
    const waiting = watch(open().locks.get('a').acquire({ waitTimeMs: 1_000 }));
    await eventually(async () => (await listeners()) === 1);
    expect(await redis.admin.exists(MARK)).toBe(0);
    await expect(waiting.promise).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('is refused at once when there are not that many in all, and leaves the others alone', async () => {
    const { leases, waiting, semaphore } = await withLargeWaiter();
    const error = await semaphore.acquire({ permits: 5 }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'LOCK_STATE', lockName: 'a' });
    expect((error as Error).message).toContain('it has 4 permits in all, and 5 were requested');
    await leases[0]?.release();
    (await waiting.promise).assertHeld();
  });

  it('is refused while it waits when there are not that many any more', async () => {
    const { waiting, semaphore, small } = await withLargeWaiter({ pollIntervalMs: 100 });
    await semaphore.setPermits(2);
    await expect(waiting.promise).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await eventually(async () => (await redis.admin.exists(MARK)) === 0);
    expect(await small.tryAcquire()).toBeNull();
  });
});
