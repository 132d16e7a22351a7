import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockShutdownError,
  LockStateError,
  type Lease,
} from 'nestjs-redis-lock/core';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { of } from 'rxjs';
import { eventually } from '../support/eventually.js';
import { Gate, PROMPT_MS, roundTrips, stallProcess, watch, type LockSuite } from './suite.js';
import { Stopwatch } from '../support/stopwatch.js';

export function describeRelease(suite: LockSuite): void {
  describe('release', () => {
    describeReleases(suite);
    describeUsing(suite);
  });
  describe('shutdown', () => {
    describeShutdown(suite);
  });
}

/** How long a caller is kept when Redis never answers. */
export function describePatience({ redis, open }: LockSuite): void {
  describe('a release that Redis does not answer', () => {
    it('lets neither the result nor the error of the work be masked by a release that fails', async () => {
      const client = open();
      const thrown = new Error('no stock');
      const options = { leaseTimeMs: 10_000 };
      const gate = new Gate();
      const works = [
        client.locks.using('a', () => gate.opened.then(() => 42), options),
        client.locks.using('b', () => gate.opened.then(() => Promise.reject(thrown)), options),
        // It learns of the failure, since it releases the lease itself.
        client.locks.using('c', (lease) => gate.opened.then(() => lease.release()), options),
      ] as const;
      const outcomes = Promise.allSettled(works);
      await eventually(() => client.eventsOf('acquired').length === 3);
      redis.pause();
      gate.open();
      expect(await outcomes).toEqual([
        { status: 'fulfilled', value: 42 },
        { status: 'rejected', reason: thrown },
        { status: 'rejected', reason: expect.any(LockBackendError) },
      ]);
      redis.resume();
      const failed = client.eventsOf('release-failed');
      expect(failed.map(({ name }) => name).sort()).toEqual(['a', 'b', 'c']);
      for (const { leased } of failed) expect(leased).toBe(true);
      for (const { error } of failed) expect(error).toBeInstanceOf(LockBackendError);
      // The client tries the release again: no waiter has to wait for the lease to end.
      for (const name of ['a', 'b', 'c']) {
        await eventually(async () => !(await client.locks.get(name).isLocked()), {
          withinMs: PROMPT_MS,
        });
      }
    });

    it('closes in bounded time also when Redis never answers', async () => {
      const { locks, close } = open();
      const lease = await locks.acquire('a', { leaseTimeMs: 4_000 });
      const given = await locks.acquire('c');
      redis.pause();
      const waiting = watch(locks.acquire('b'));
      const releasing = watch(given.release());
      await new Promise(setImmediate);
      const stopwatch = new Stopwatch();
      await close();
      expect(stopwatch.ms).toBeLessThan(5_000);
      await expect(waiting.promise).rejects.toThrow(LockShutdownError);
      await expect(releasing.promise).rejects.toThrow(LockBackendError);
      expect(lease.state).toBe('lost');
      redis.resume();
      await redis.admin.flushall();
    });
  });
}

function describeReleases({ redis, open, openRival = open }: LockSuite): void {
  it('ends exactly one hold; again it is a no-op that sends nothing', async () => {
    const [ours, others] = [open(), openRival()];
    const lease = await ours.locks.acquire('a');
    await Promise.all([lease.release(), lease.release()]);
    expect(lease).toMatchObject({ state: 'released', remainingMs: 0 });
    const foreign = await others.locks.acquire('a', { waitTimeMs: 0 });
    const sent = await redis.commandsDuring(async () => {
      await lease.release();
      await lease[Symbol.asyncDispose]();
    });
    expect(sent).toEqual({});
    foreign.assertHeld();
  });

  it('shares one answer among those who release at the same time', async () => {
    const [ours, admin] = [open(), open()];
    const lease = await ours.locks.acquire('a');
    await admin.locks.get('a').forceRelease();
    const answers = await Promise.allSettled([lease.release(), lease.release()]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('lets a later acquisition succeed at once after release() has resolved', async () => {
    const [ours, others] = [open(), openRival()];
    for (let round = 0; round < 20; round += 1) {
      await (await ours.locks.acquire('a', { waitTimeMs: 0 })).release();
      await (await others.locks.acquire('a', { waitTimeMs: 0 })).release();
    }
  });

  it('releases by await using, whatever the block does', async () => {
    const { locks } = open();
    const leases: Lease[] = [];
    const block = async () => {
      await using lease = await locks.acquire('a');
      leases.push(lease);
      throw new Error('no stock');
    };
    await expect(block()).rejects.toThrow('no stock');
    expect(leases[0]?.state).toBe('released');
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('never lets await using bury the error of the block: a lost lease is silent there', async () => {
    const [ours, admin] = [open(), open()];
    const block = async (error?: Error) => {
      await using lease = await ours.locks.acquire('a');
      await admin.locks.get('a').forceRelease();
      if (error !== undefined) throw error;
      return lease.owner;
    };
    const error = new Error('no stock');
    await expect(block(error)).rejects.toBe(error);
    expect(typeof (await block())).toBe('string');
  });

  it('refuses everything but a release once the lease is released', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    await lease.release();
    expect(() => {
      lease.assertHeld();
    }).toThrow(LockStateError);
    await expect(lease.renew()).rejects.toThrow(LockStateError);
    await expect(lease.renew()).rejects.toMatchObject({ lockName: 'a', code: 'LOCK_STATE' });
    expect(lease.signal.aborted).toBe(false);
  });

  it('rejects the release of a lease that was lost, and touches no other owner', async () => {
    const [ours, admin, others] = [open(), open(), openRival()];
    const lease = await ours.locks.acquire('a');
    await admin.locks.get('a').forceRelease();
    const next = await others.locks.acquire('a');
    const { signal } = lease;
    await expect(lease.release()).rejects.toThrow(LeaseLostError);
    expect(lease.state).toBe('lost');
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
    expect(() => {
      lease.assertHeld();
    }).toThrow(LeaseLostError);
    next.assertHeld();
    expect(await ours.locks.tryAcquire('a')).toBeNull();
  });

  it('takes the lock from its holder by force, tells so once, and wakes the waiters', async () => {
    const [ours, admin, third] = [open(), open(), openRival({ pollIntervalMs: 60_000 })];
    const { owner } = await ours.locks.acquire('a');
    const waiting = third.locks.acquire('a', { waitTimeMs: 60_000 });
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    await roundTrips(redis, 3);
    const stopwatch = new Stopwatch();
    const stuck = { reason: 'ticket 7', owners: [owner] };
    expect(await admin.locks.get('a').forceRelease(stuck)).toBe(true);
    const lease = await waiting;
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    expect(await admin.locks.get('a').forceRelease(stuck)).toBe(false);
    await lease.release();
    expect(await admin.locks.get('a').forceRelease()).toBe(false);
    const [told, ...others] = admin.eventsOf('force-released');
    expect(told).toMatchObject({
      name: 'a',
      holders: [{ owner, holdCount: 1 }],
      reason: 'ticket 7',
    });
    expect(told?.remainingMs).toBeGreaterThan(0);
    expect(others).toEqual([]);
  });

  it.each([
    ...[null, 'x', { why: 'x' }, { reason: '' }, { reason: 'a\nb' }, { reason: 7 }],
    ...[{ owners: 'a:1' }, { owners: [1] }],
  ])('refuses to use force by %j, before anything is sent', async (options) => {
    const { locks } = open();
    const sent = await redis.commandsDuring(async () => {
      await expect(locks.get('a').forceRelease(options as object)).rejects.toThrow(
        LockArgumentError,
      );
    });
    expect(Object.keys(sent).filter((command) => command.startsWith('eval'))).toEqual([]);
  });
}

async function* asynchronously() {
  yield 1;
}

function* synchronously() {
  yield 1;
}

function describeUsing({ open, openRival = open, stall = stallProcess }: LockSuite): void {
  it('passes the result of the work on, whether it is a value, a promise or a thenable', async () => {
    const { locks } = open();
    const thenable = {
      then: (resolve: (value: number) => void) => {
        resolve(3);
      },
    };
    expect(await locks.using('a', () => 1)).toBe(1);
    expect(await locks.using('a', async () => 2)).toBe(2);
    expect(await locks.using('a', () => thenable)).toBe(3);
    expect(await locks.using('a', () => null)).toBeNull();
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it.each<[string, () => unknown]>([
    ['an Observable', () => of(1)],
    ['a promise of an Observable', async () => of(1)],
    ['the iterator of an async generator', () => asynchronously()],
    ['the iterator of a generator', () => synchronously()],
    ['a stream of Node', () => Readable.from(['1'])],
    ['a stream of the web', async () => new Blob(['1']).stream()],
  ])('refuses %s as a result, which would be read after the release', async (_, work) => {
    const { locks } = open();
    await expect(locks.using('a', work)).rejects.toMatchObject({
      code: 'LOCK_ARGUMENT',
      message: expect.stringContaining('after the release') as unknown,
    });
    expect(await locks.get('a').isLocked()).toBe(false);
    await expect(locks.get('a').using(work)).rejects.toThrow(LockArgumentError);
    const kept = { kept: work() };
    expect(await locks.using('a', () => kept)).toBe(kept);
  });

  it('passes clients and collections on, which have subscriptions and iterators too', async () => {
    const { locks } = open();
    const client = { subscribe: () => client, on: () => client };
    for (const result of [client, new EventEmitter(), [1], new Map([[1, 2]]), [1].values()]) {
      expect(await locks.using('a', () => result)).toBe(result);
    }
  });

  it.each([new Error('no stock'), 'no stock', undefined])(
    'passes what the work throws on untouched, and releases: %p',
    async (thrown) => {
      const { locks } = open();
      const works = [
        () => {
          throw thrown;
        },
        async () => {
          throw thrown;
        },
      ];
      for (const work of works) {
        const outcome = await locks.using('a', work).then(
          () => 'resolved',
          (error: unknown) => ({ error }),
        );
        expect(outcome).toEqual({ error: thrown });
        expect(await locks.get('a').isLocked()).toBe(false);
      }
    },
  );

  it('runs no work without the lock', async () => {
    const [{ locks }, rival] = [open(), openRival()];
    const lease = await rival.locks.acquire('a');
    let ran = false;
    const work = () => (ran = true);
    await expect(locks.using('a', work, { waitTimeMs: 0 })).rejects.toThrow('another owner');
    expect(ran).toBe(false);
    await lease.release();
  });

  it('rejects with LeaseLostError, cause and result when the lease was lost during the work', async () => {
    const [ours, others] = [open(), open()];
    const stopwatch = new Stopwatch();
    const work = ours.locks.using('a', async () => {
      await others.locks.get('a').forceRelease();
      return 42;
    });
    const error = await work.catch((e: unknown) => e);
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 42, lockName: 'a' });
    const { cause, confirmedAt, confirmedAgoMs, stoodStillMs } = error as LeaseLostError;
    expect(cause).toBeInstanceOf(LeaseLostError);
    expect(confirmedAt).toBeInstanceOf(Date);
    expect(cause).toMatchObject({ confirmedAt, confirmedAgoMs, stoodStillMs });
  });

  it('rejects also when the lease ran out during the work by the local clock alone', async () => {
    const { locks } = open();
    const work = locks.using(
      'a',
      () => {
        // No timer can tell.
        stall(120);
        return 'late';
      },
      { leaseTimeMs: 100 },
    );
    await expect(work).rejects.toMatchObject({ reason: 'expired', result: 'late' });
  });

  it('lets the error of the work win over a lost lease', async () => {
    const [ours, others] = [open(), open()];
    const thrown = new Error('no stock');
    const stopwatch = new Stopwatch();
    const work = ours.locks.using('a', async () => {
      await others.locks.get('a').forceRelease();
      throw thrown;
    });
    await expect(work).rejects.toBe(thrown);
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    expect(ours.eventsOf('lost')).toMatchObject([{ type: 'lost', name: 'a', reason: 'gone' }]);
  });

  it('does not mind a work that releases its lease itself', async () => {
    const { locks } = open();
    const result = await locks.using('a', async (lease) => {
      await lease.release();
      return 1;
    });
    expect(result).toBe(1);
  });

  it.each([undefined, null, 'work', {}])('refuses a work that is no function: %p', async (work) => {
    const { locks } = open();
    await expect(locks.using('a', work as never)).rejects.toThrow(LockArgumentError);
    expect(await locks.get('a').isLocked()).toBe(false);
  });
}

function describeShutdown({ redis, open, openRival = open }: LockSuite): void {
  it('refuses new callers and sends those who wait away, with their reason', async () => {
    const [{ locks, context }, rival] = [open(), openRival()];
    const own = await locks.acquire('own');
    const lease = await rival.locks.acquire('a');
    const waiting = watch(locks.acquire('a', { waitTimeMs: Infinity }));
    await roundTrips(redis, 3);
    context.refuse();
    await expect(waiting.promise).rejects.toThrow(LockShutdownError);
    await expect(locks.acquire('b')).rejects.toMatchObject({ code: 'LOCK_SHUTDOWN' });
    await expect(locks.tryAcquire('b')).rejects.toThrow(LockShutdownError);
    own.assertHeld();
    await own.release();
    await lease.release();
  });

  it('lets holders finish while their leases are renewed, nested calls included', async () => {
    const client = open({ watchdogLeaseMs: 800 });
    const { locks, context } = client;
    const work = locks.using('a', async (lease) => {
      context.refuse();
      const renewals = client.eventsOf('renewed').length;
      await eventually(() => client.eventsOf('renewed').length >= renewals + 3);
      await locks.using('a', () => undefined);
      lease.assertHeld();
      return 'done';
    });
    await eventually(() => client.eventsOf('acquired').length > 0);
    await context.drain();
    expect(await work).toBe('done');
  });

  it('drains no longer than shutdownTimeoutMs', async () => {
    const { locks, context } = open({ shutdownTimeoutMs: 50 });
    await locks.acquire('a');
    const stopwatch = new Stopwatch();
    await context.drain();
    expect(stopwatch.ms).toBeLessThan(50 + PROMPT_MS);
  });

  it('takes the rest from its holders when it closes, and frees it', async () => {
    const [ours, others] = [open(), openRival()];
    const lease = await ours.locks.acquire('a');
    const { signal } = lease;
    await ours.close();
    expect(lease.state).toBe('lost');
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'shutdown' });
    await expect(lease.release()).rejects.toMatchObject({ reason: 'shutdown' });
    await (await others.locks.acquire('a', { waitTimeMs: 0 })).release();
  });

  it('releases what is granted while it closes', async () => {
    const [ours, others] = [open(), open()];
    const attempts = ['a', 'b', 'c'].map((name) => watch(ours.locks.acquire(name)));
    await ours.close();
    for (const { promise } of attempts) await expect(promise).rejects.toThrow(LockShutdownError);
    for (const name of ['a', 'b', 'c']) {
      expect(await others.locks.get(name).isLocked()).toBe(false);
    }
  });

  it('releases what is granted while it closes to a caller that was aborted before', async () => {
    const [ours, others] = [open(), open()];
    await ours.locks.get('a').isLocked();
    const abort = new AbortController();
    redis.pause();
    const acquiring = ours.locks.acquire('a', { signal: abort.signal });
    await new Promise(setImmediate);
    abort.abort(new Error('no time'));
    await expect(acquiring).rejects.toThrow('no time');
    const closing = ours.close();
    redis.resume();
    await closing;
    expect(await others.locks.get('a').isLocked()).toBe(false);
  });

  it('waits for a release that is on its way', async () => {
    const [ours, others] = [open(), open()];
    await others.locks.get('a').isLocked();
    const lease = await ours.locks.acquire('a');
    redis.pause();
    const releasing = lease.release();
    const closing = watch(ours.close());
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(closing.state).toBe('pending');
    redis.resume();
    await Promise.all([releasing, closing.promise]);
    expect(ours.eventsOf('released')).toHaveLength(1);
    expect(await others.locks.get('a').isLocked()).toBe(false);
  });

  it('can be closed twice, and refuses everything afterwards', async () => {
    const client = open();
    await client.close();
    await client.close();
    await expect(client.locks.acquire('a')).rejects.toThrow(LockShutdownError);
    const asking = client.locks.get('a').isLocked();
    await expect(asking).rejects.toThrow(LockBackendError);
    await expect(asking).rejects.toMatchObject({ retryable: false });
  });
}
