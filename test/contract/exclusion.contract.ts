import { describe, expect, it } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { LockBackendError, LockTimeoutError } from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import { afterSending, PROMPT_MS, roundTrips, Section, watch, type LockSuite } from './suite.js';
import { Stopwatch } from '../support/stopwatch.js';

export function describeExclusion({
  redis,
  open,
  openRival = open,
  isHeardInTime,
}: LockSuite): void {
  describe('exclusion', () => {
    it('grants a free lock, and it is locked for all callers', async () => {
      const [ours, others, rival] = [open(), open(), openRival()];
      const lease = await ours.locks.acquire('a');
      expect(lease).toMatchObject({ name: 'a', state: 'held', holdCount: 1 });
      expect(await others.locks.get('a').isLocked()).toBe(true);
      expect(await rival.locks.tryAcquire('a')).toBeNull();
      await lease.release();
      expect(await others.locks.get('a').isLocked()).toBe(false);
    });

    it('never confuses names, whatever they are', async () => {
      const [{ locks }, rival] = [open(), openRival()];
      const names = ['a', 'A', 'a ä', 'a/b?*[]', '{a}b', 'constructor', '__proto__', '商品_1'];
      const leases = await Promise.all(names.map((name) => locks.tryAcquire(name)));
      expect(leases.map((lease) => lease?.name)).toEqual(names);
      for (const name of names) expect(await rival.locks.tryAcquire(name)).toBeNull();
    });

    it('resolves tryAcquire with null while another owner has it, and holds nothing then', async () => {
      const [ours, rival] = [open(), openRival()];
      const lease = await rival.locks.acquire('a');
      expect(await ours.locks.tryAcquire('a')).toBeNull();
      expect(await ours.locks.tryAcquire('a', { waitTimeMs: 400 })).toBeNull();
      await lease.release();
      // One that leaves at that moment may be handed it, and releases it.
      for (const { locks } of [ours, rival])
        await eventually(async () => !(await locks.get('a').isLocked()));
    });

    it('grants nothing whose answer took longer than the lease: it asks again', async () => {
      const { locks } = open();
      await (await locks.acquire('a')).release();
      redis.pause();
      const acquiring = locks.acquire('a', { leaseTimeMs: 600 });
      await afterSending(650);
      redis.resume();
      const lease = await acquiring;
      lease.assertHeld();
      expect(lease.remainingMs).toBeGreaterThan(0);
      // A caller whose grant came too late asks again as a new owner.
      expect(lease.owner).toMatch(isHeardInTime === true ? /:2$/ : /:3$/);
      await lease.release();
      await eventually(async () => !(await locks.get('a').isLocked()), { withinMs: PROMPT_MS });
    });
  });
}

/** One caller at a time gets in, in the order in which the callers of a process came. */
export function describeOneAtATime({ redis, open }: LockSuite): void {
  describe('one at a time', () => {
    it('makes every top-level acquisition a new owner, so that siblings never overlap', async () => {
      const { locks } = open();
      const section = new Section();
      const owners = await Promise.all(
        Array.from({ length: 8 }, () =>
          locks.using('a', async ({ owner }) => {
            await section.run(() => roundTrips(redis, 2));
            return owner;
          }),
        ),
      );
      expect(section).toMatchObject({ entries: 8, most: 1 });
      expect(new Set(owners).size).toBe(8);
      expect(new Set(owners.map((owner) => owner.split(':')[0])).size).toBe(1);
    });

    it('excludes clients from each other: an unguarded counter is exact', async () => {
      const clients = [open(), open(), open()];
      const section = new Section();
      const work = async () => {
        const count = Number(await redis.admin.get('count'));
        await redis.admin.set('count', count + 1);
      };
      await Promise.all(
        clients.flatMap(({ locks }) =>
          Array.from({ length: 20 }, () => locks.using('a', () => section.run(work))),
        ),
      );
      expect(section).toMatchObject({ entries: 60, most: 1 });
      expect(await redis.admin.get('count')).toBe('60');
    });

    it('serves the callers of one process in their order', async () => {
      const { locks } = open();
      const first = await locks.acquire('a');
      const order: number[] = [];
      const callers = Array.from({ length: 10 }, (_, i) => locks.using('a', () => order.push(i)));
      await roundTrips(redis, 3);
      expect(order).toEqual([]);
      await first.release();
      await Promise.all(callers);
      expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it.each([{ leaseTimeMs: 60_000 }, {}])(
      'ends a hold that Redis has lost with the next grant in its process, given %j',
      async (options) => {
        const client = open();
        const { locks, eventsOf } = client;
        const lease = await locks.acquire('a', options);
        const { signal } = lease;
        await redis.admin.del('a', 'a:other');
        const next = await locks.acquire('a', options);
        expect(() => {
          lease.assertHeld();
        }).toThrow(expect.objectContaining({ code: 'LEASE_LOST', reason: 'gone' }));
        expect(lease).toMatchObject({ state: 'lost', remainingMs: 0 });
        expect(signal.aborted).toBe(true);
        expect(eventsOf('lost')).toContainEqual(
          expect.objectContaining({ name: 'a', reason: 'gone' }),
        );
        await expect(lease.release()).rejects.toMatchObject({ reason: 'gone' });
        next.assertHeld();
        await next.release();
      },
    );
  });
}

/** How long a caller waits, and how it stops waiting. */
export function describeWaiting({ redis, open, openRival = open }: LockSuite): void {
  describe('waiting', () => {
    it('is woken by the release of another client, not by its poll', async () => {
      const [ours, others] = [open({ pollIntervalMs: 60_000 }), openRival()];
      const lease = await others.locks.acquire('a');
      const waiting = watch(ours.locks.acquire('a', { waitTimeMs: 60_000 }));
      await eventually(async () => (await redis.wakeUpChannels()).length === 1);
      await roundTrips(redis, 3);
      expect(waiting.state).toBe('pending');
      await lease.release();
      const sinceRelease = new Stopwatch();
      await (await waiting.promise).release();
      expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    });

    it('gives up after waitTimeMs with a LockTimeoutError that says what was going on', async () => {
      const [ours, others] = [open(), openRival()];
      await others.locks.acquire('a', { leaseTimeMs: 20_000 });
      const stopwatch = new Stopwatch();
      const error = await ours.locks.acquire('a', { waitTimeMs: 400 }).catch((e: unknown) => e);
      const tookMs = stopwatch.ms;
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', lockName: 'a', blockedBy: 'other' });
      const { waitedMs, retryAfterMs, message } = error as LockTimeoutError;
      expect(waitedMs).toBeGreaterThanOrEqual(400);
      expect(message).toBe(
        `Lock "a" was not acquired in ${waitedMs} ms: another owner holds it; ` +
          'raise waitTimeMs or shorten the critical section',
      );
      expect(retryAfterMs).toBeGreaterThan(15_000);
      expect(retryAfterMs).toBeLessThanOrEqual(20_000);
      expect(tookMs).toBeLessThan(400 + PROMPT_MS);
      expect(ours.eventsOf('timed-out')).toHaveLength(1);
    });

    it('keeps waitTimeMs for each of the callers that queue behind each other', async () => {
      const [{ locks }, rival] = [open(), openRival()];
      const lease = await rival.locks.acquire('a');
      const stopwatch = new Stopwatch();
      await Promise.all(
        [400, 450, 500].map(async (waitTimeMs) => {
          await expect(locks.acquire('a', { waitTimeMs })).rejects.toThrow(LockTimeoutError);
          expect(stopwatch.ms).toBeLessThan(waitTimeMs + PROMPT_MS);
        }),
      );
      lease.assertHeld();
    });

    it('makes exactly one attempt with a waitTimeMs of 0', async () => {
      const [ours, others] = [open(), openRival()];
      await others.locks.acquire('a');
      await ours.locks.tryAcquire('a');
      const sent = await redis.commandsDuring(() =>
        expect(ours.locks.acquire('a', { waitTimeMs: 0 })).rejects.toThrow(LockTimeoutError),
      );
      expect(sent.evalsha).toBe(1);
      expect(sent.subscribe).toBeUndefined();
    });

    it('waits for ever with a waitTimeMs of Infinity, until it is granted', async () => {
      const [{ locks }, rival] = [open(), openRival()];
      const lease = await rival.locks.acquire('a');
      const waiting = watch(locks.acquire('a', { waitTimeMs: Infinity }));
      await roundTrips(redis, 3);
      expect(waiting.state).toBe('pending');
      await lease.release();
      await (await waiting.promise).release();
    });

    it('frees nothing when a waiter gives up', async () => {
      const [ours, others, third] = [open(), openRival(), open()];
      const lease = await others.locks.acquire('a');
      await expect(ours.locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
      await roundTrips(redis, 3);
      expect(await third.locks.tryAcquire('a')).toBeNull();
      lease.assertHeld();
    });

    it('gets the lock when the lease of a silent holder ends', async () => {
      const [ours, others] = [open(), openRival()];
      await others.locks.acquire('a', { leaseTimeMs: 300 });
      const stopwatch = new Stopwatch();
      const lease = await ours.locks.acquire('a');
      expect(stopwatch.ms).toBeLessThan(300 + PROMPT_MS);
      lease.assertHeld();
    });
  });

  describe('abort', () => {
    it('rejects with the reason of a signal that was aborted before, and sends nothing', async () => {
      const { locks } = open();
      await locks.get('a').isLocked();
      const reason = new Error('no time');
      const sent = await redis.commandsDuring(async () => {
        const signal = AbortSignal.abort(reason);
        await expect(locks.acquire('a', { signal })).rejects.toBe(reason);
        await expect(locks.tryAcquire('a', { signal })).rejects.toBe(reason);
        await expect(locks.using('a', () => 1, { signal })).rejects.toBe(reason);
      });
      expect(sent).toEqual({});
    });

    it.each([new Error('no time'), 'no time', 0, null])(
      'stops the waiting at once, and rejects with the reason untouched: %p',
      async (reason) => {
        const [{ locks }, rival] = [open(), openRival()];
        const lease = await rival.locks.acquire('a');
        const abort = new AbortController();
        const waiting = watch(locks.acquire('a', { signal: abort.signal, waitTimeMs: Infinity }));
        await roundTrips(redis, 2);
        expect(waiting.state).toBe('pending');
        abort.abort(reason);
        await expect(waiting.promise).rejects.toBe(reason);
        expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
        await lease.release();
        // Redis may still give the lock to the aborted attempt; the client releases it.
        await eventually(async () => !(await locks.get('a').isLocked()));
      },
    );

    it('lets the next in the queue go on when the first is aborted', async () => {
      const [{ locks }, rival] = [open(), openRival()];
      const lease = await rival.locks.acquire('a');
      const abort = new AbortController();
      const first = locks.acquire('a', { signal: abort.signal });
      const second = locks.acquire('a');
      await roundTrips(redis, 2);
      abort.abort(new Error('no time'));
      await expect(first).rejects.toThrow('no time');
      await lease.release();
      await (await second).release();
    });

    it('has no effect once the lock is granted', async () => {
      const { locks } = open();
      const abort = new AbortController();
      const lease = await locks.acquire('a', { signal: abort.signal });
      expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
      abort.abort();
      lease.assertHeld();
      expect(lease.signal.aborted).toBe(false);
      expect(await locks.get('a').isLocked()).toBe(true);
    });

    it('ends either with the reason and nothing held, or with a lease, at whatever moment it comes', async () => {
      const { locks } = open();
      let granted = 0;
      for (let turns = 0; turns < 60; turns += 1) {
        const abort = new AbortController();
        const acquiring = watch(locks.acquire('a', { signal: abort.signal }));
        // Some are aborted before the answer, some in the very tick of it, some after.
        for (let turn = 0; turn < turns / 4; turn += 1) await new Promise(setImmediate);
        abort.abort(new Error('no time'));
        const outcome = await acquiring.promise.catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome.message).toBe('no time');
        else {
          granted += 1;
          await (outcome as AsyncDisposable)[Symbol.asyncDispose]();
        }
        await eventually(async () => !(await locks.get('a').isLocked()));
      }
      expect(granted).toBeGreaterThan(0);
      expect(granted).toBeLessThan(60);
    });

    it('releases a grant that arrives after the caller has left', async () => {
      const client = open();
      const { locks } = client;
      await locks.get('a').isLocked();
      const abort = new AbortController();
      redis.pause();
      const acquiring = locks.acquire('a', { signal: abort.signal });
      await new Promise(setImmediate);
      abort.abort(new Error('no time'));
      await expect(acquiring).rejects.toThrow('no time');
      redis.resume();
      await eventually(() => client.eventsOf('late-grant').length === 1);
      await eventually(async () => !(await locks.get('a').isLocked()), { withinMs: PROMPT_MS });
    });
  });
}

export function describeOutage({ redis, open, openRival = open }: LockSuite): void {
  describe('a Redis that stands still', () => {
    it('keeps waitTimeMs, and blames Redis and not another holder', async () => {
      const { locks } = open();
      await locks.get('a').isLocked();
      redis.pause();
      try {
        const stopwatch = new Stopwatch();
        const error = await locks.acquire('a', { waitTimeMs: 100 }).catch((e: unknown) => e);
        expect(stopwatch.ms).toBeLessThan(100 + PROMPT_MS);
        expect(error).toBeInstanceOf(LockBackendError);
        expect(error).toMatchObject({ retryable: true, outcome: 'unknown', lockName: 'a' });
      } finally {
        redis.resume();
      }
      await eventually(async () => !(await locks.get('a').isLocked()), { withinMs: PROMPT_MS });
    });

    it('shuts no caller out for those that gave up meanwhile', async () => {
      const [{ locks }, rival] = [open(), openRival()];
      await locks.get('a').isLocked();
      redis.pause();
      const gaveUp = await Promise.allSettled(
        Array.from({ length: 5 }, () => locks.acquire('a', { waitTimeMs: 50 })),
      );
      const waiting = locks.acquire('a', { waitTimeMs: 5_000 });
      redis.resume();
      expect(gaveUp.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
      const lease = await waiting;
      lease.assertHeld();
      expect(await rival.locks.tryAcquire('a')).toBeNull();
    });
  });
}
