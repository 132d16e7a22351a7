import { describe, expect, it } from '@jest/globals';
import {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  type Lease,
  type Lock,
} from 'nestjs-redis-lock/core';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { eventually } from '../support/eventually.js';
import {
  afterSending,
  PROMPT_MS,
  roundTrips,
  stallProcess,
  watch,
  type LockSuite,
} from './suite.js';
import { Stopwatch } from '../support/stopwatch.js';

/** Both clocks count whole milliseconds. */
const TICK_MS = 2;

/** A lost lease has these in every error. */
function lossOf(error: unknown) {
  expect(error).toBeInstanceOf(LeaseLostError);
  const { confirmedAt, confirmedAgoMs = NaN, stoodStillMs = NaN } = error as LeaseLostError;
  return { confirmedAt: confirmedAt?.getTime() ?? NaN, confirmedAgoMs, stoodStillMs };
}

/** Keeping a lease, and telling the truth when it cannot be kept. */
export function describeLoss(suite: LockSuite): void {
  describe('a lease', () => {
    describeKeeping(suite);
    describeRenew(suite);
  });
  describe('a lost lease', () => {
    describeLosing(suite);
  });
  describe('a suspended machine', () => {
    describeSuspension(suite);
  });
}

function describeKeeping({ redis, open, openRival = open }: LockSuite): void {
  it('counts from the moment at which the request was sent', async () => {
    const { locks } = open();
    await locks.get('a').isLocked();
    redis.pause();
    const acquiring = locks.acquire('a', { leaseTimeMs: 5_000 });
    await afterSending(200);
    redis.resume();
    const lease = await acquiring;
    const most = 5_000 - 200 - 5_000 * 0.01;
    expect(lease.remainingMs).toBeLessThan(most);
    expect(lease.remainingMs).toBeGreaterThan(most - 2_000);
    // Redis counts from the arrival of the request, so it lets no other owner in before.
    expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(lease.remainingMs);
  });

  it('is renewed by the watchdog for as long as it is held, and no longer', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 800 }), openRival()];
    const lease = await ours.locks.acquire('a');
    await eventually(() => ours.eventsOf('renewed').length >= 5);
    lease.assertHeld();
    expect(lease.remainingMs).toBeGreaterThan(0);
    expect(await others.locks.tryAcquire('a')).toBeNull();
    await lease.release();
    const renewals = ours.eventsOf('renewed').length;
    const foreign = await others.locks.acquire('a', { leaseTimeMs: 400 });
    await eventually(() => foreign.state === 'lost');
    expect(ours.eventsOf('renewed')).toHaveLength(renewals);
  });

  it('is renewed for the time of its own call', async () => {
    const { locks, eventsOf } = open({ watchdogLeaseMs: 60_000 });
    const lease = await locks.acquire('a', { watchdogLeaseMs: 1_800 });
    await eventually(() => eventsOf('renewed').length >= 3);
    lease.assertHeld();
    // Redis promises no more than the call asked for.
    expect(await locks.get('a').remainingTimeMs()).toBeLessThanOrEqual(1_800);
    await lease.release();
  });

  it('ends by itself when it was given a fixed lease time', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 300 }), openRival()];
    const lease = await ours.locks.acquire('a', { leaseTimeMs: 400 });
    await others.locks.acquire('a');
    expect(lease.state).toBe('lost');
    expect(ours.eventsOf('renewed')).toEqual([]);
    expect(ours.eventsOf('lost')).toMatchObject([{ type: 'lost', name: 'a', reason: 'expired' }]);
  });

  it('is not renewed past maxHoldMs, and is over one lease later at the latest', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 600 }), openRival()];
    const stopwatch = new Stopwatch();
    const lease = await ours.locks.acquire('a', { maxHoldMs: 800 });
    await others.locks.acquire('a');
    expect(stopwatch.realMs).toBeGreaterThan(780);
    expect(stopwatch.ms).toBeLessThan(800 + 600 + PROMPT_MS);
    expect(lease.state).toBe('lost');
    expect(lease.signal.reason).toMatchObject({ reason: 'expired' });
    expect(ours.eventsOf('renewed').length).toBeGreaterThan(0);
  });

  it('shows what is left, never more than Redis, and nothing once it is over', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 300 });
    const seen = [lease.remainingMs];
    while (lease.remainingMs > 0) {
      const ours = lease.remainingMs;
      const theirs = await locks.get('a').remainingTimeMs();
      // Asked after ours was read: it has run on since then, but it began later.
      if (lease.remainingMs > 0) expect(theirs).toBeGreaterThanOrEqual(lease.remainingMs);
      seen.push(ours);
      await roundTrips(redis, 1);
    }
    expect(seen).toEqual([...seen].sort((a, b) => b - a));
    expect(seen[0]).toBeLessThanOrEqual(300 * 0.99 - 2);
    expect(lease.state).toBe('lost');
  });
}

function describeRenew({ redis, open, openRival = open }: LockSuite): void {
  it('lasts at least as long as renew() asks for, from the moment of the call', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 1_000 });
    await lease.renew(20_000);
    expect(lease.remainingMs).toBeGreaterThan(15_000);
    expect(lease.remainingMs).toBeLessThan(20_000);
    expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(15_000);
  });

  it('is renewed for its own lease time unless renew() is told another', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 20_000 });
    const before = lease.remainingMs;
    await eventually(() => lease.remainingMs < before - 300);
    await lease.renew();
    expect(lease.remainingMs).toBeGreaterThan(before - 300);
  });

  it('never becomes shorter by renew()', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 20_000 });
    await lease.renew(100);
    expect(lease.remainingMs).toBeGreaterThan(15_000);
    expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(15_000);
  });

  it('keeps a fixed lease alive by renew() alone', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 800 });
    const stopwatch = new Stopwatch();
    while (stopwatch.realMs < 1_000) {
      await lease.renew(800);
      await roundTrips(redis, 1);
    }
    lease.assertHeld();
    await lease.release();
  });

  it('is lost when renew() finds another owner, or none', async () => {
    const [ours, admin, others] = [open(), open(), openRival()];
    const lease = await ours.locks.acquire('a');
    await admin.locks.get('a').forceRelease();
    const next = await others.locks.acquire('a', { leaseTimeMs: 5_000 });
    await expect(lease.renew(60_000)).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
    expect(lease.state).toBe('lost');
    await expect(lease.renew()).rejects.toThrow(LeaseLostError);
    expect(await others.locks.get('a').remainingTimeMs()).toBeLessThanOrEqual(5_000);
    next.assertHeld();
  });

  it.each([0, -1, NaN, 1.5, Infinity, '1000', null])(
    'refuses renew(%p) and sends nothing',
    async (leaseTimeMs) => {
      const { locks } = open();
      const lease = await locks.acquire('a');
      const sent = await redis.commandsDuring(() =>
        expect(lease.renew(leaseTimeMs as number)).rejects.toThrow(LockArgumentError),
      );
      expect(sent).toEqual({});
    },
  );

  it('sends the steps of one owner one after the other: renew, renew, release', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    await Promise.all([lease.renew(60_000), lease.renew(50_000), lease.release()]);
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('is not revived by a renew() that meets its release', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    const releasing = lease.release();
    await expect(lease.renew(60_000)).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await releasing;
    expect(await locks.get('a').isLocked()).toBe(false);
  });
}

function describeLosing({ redis, open, stall = stallProcess }: LockSuite): void {
  it('says so by state, signal, assertHeld, renew and release once it was taken away', async () => {
    const [ours, admin] = [open({ watchdogLeaseMs: 600 }), open()];
    const lease = await ours.locks.acquire('a');
    const { signal } = lease;
    const heard = watch(new Promise((resolve) => signal.addEventListener('abort', resolve)));
    await admin.locks.get('a').forceRelease();
    await eventually(() => heard.state === 'resolved');
    expect(signal.reason).toBeInstanceOf(LeaseLostError);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone', lockName: 'a' });
    expect(lease).toMatchObject({ state: 'lost', remainingMs: 0 });
    expect(() => {
      lease.assertHeld();
    }).toThrow(signal.reason as Error);
    await expect(lease.renew()).rejects.toBe(signal.reason);
    await expect(lease.release()).rejects.toBe(signal.reason);
    expect(ours.eventsOf('lost')).toMatchObject([{ type: 'lost', name: 'a', reason: 'gone' }]);
    expect(ours.eventsOf('lost')[0]?.error).toBe(signal.reason);
  });

  it.each<[string, (lock: Lock) => Promise<unknown>]>([
    ['a look at it', (lock) => lock.isLocked()],
    ['a look at its time', (lock) => lock.remainingTimeMs()],
    ['forceRelease() that finds nothing', (lock) => lock.forceRelease()],
  ])('is found by %s in its own process', async (_, look) => {
    const { locks, eventsOf } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 60_000 });
    const other = await locks.acquire('b');
    await look(locks.get('a'));
    if (lease.state === 'held') await redis.admin.del('a');
    await look(locks.get('a'));
    expect(lease.state).toBe('lost');
    expect(eventsOf('lost')).toMatchObject([{ name: 'a', reason: 'gone' }]);
    other.assertHeld();
    await other.release();
  });

  it('is known to its process with the end of its own forceRelease()', async () => {
    const { locks, eventsOf } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 60_000 });
    expect(await locks.get('a').forceRelease({ owners: [] })).toBe(false);
    lease.assertHeld();
    expect(await locks.get('a').forceRelease()).toBe(true);
    expect(() => {
      lease.assertHeld();
    }).toThrow(LeaseLostError);
    expect(eventsOf('lost')).toMatchObject([{ name: 'a', reason: 'gone' }]);
  });

  it('is no lease that is granted or released while its process looks', async () => {
    const { locks, eventsOf } = open();
    for (let round = 0; round < 20; round += 1) {
      const looks = [locks.get('a').isLocked()];
      const acquiring = locks.acquire('a');
      looks.push(locks.get('a').isLocked());
      const lease = await acquiring;
      looks.push(locks.get('a').isLocked());
      const releasing = lease.release();
      looks.push(locks.get('a').isLocked());
      await Promise.all([releasing, ...looks]);
    }
    expect(eventsOf('lost')).toEqual([]);
  });

  it('says when Redis has confirmed it last: the grant, or a renewal', async () => {
    const client = open();
    const { clock } = client.context;
    const before = clock.wall();
    const lease = await client.locks.acquire('a', { leaseTimeMs: 60_000 });
    const renewed = await client.locks.acquire('b', { leaseTimeMs: 60_000 });
    const granted = clock.wall();
    await afterSending(300);
    await renewed.renew();
    await redis.admin.del('a', 'b');
    await expect(lease.release()).rejects.toMatchObject({ reason: 'gone' });
    await expect(renewed.release()).rejects.toMatchObject({ reason: 'gone' });
    const [first, second] = client.eventsOf('lost').map(({ error }) => lossOf(error));
    expect(first?.confirmedAt).toBeGreaterThanOrEqual(before - TICK_MS);
    expect(first?.confirmedAt).toBeLessThanOrEqual(granted + TICK_MS);
    expect(first?.confirmedAgoMs).toBeGreaterThanOrEqual(300 - TICK_MS);
    expect(second?.confirmedAt).toBeGreaterThanOrEqual(before + 300 - TICK_MS);
    const message = `(confirmed ${String(first?.confirmedAgoMs)} ms ago`;
    expect(client.eventsOf('lost')[0]?.error.message).toContain(message);
    for (const { error } of client.eventsOf('lost')) expect(error.renewalFailedAt).toBeUndefined();
  });

  it('tells every lease of the owner', async () => {
    const [ours, admin] = [open({ watchdogLeaseMs: 600 }), open()];
    const work = ours.locks.using('a', (outer) =>
      ours.locks.using('a', async (inner) => {
        await admin.locks.get('a').forceRelease();
        await eventually(() => outer.signal.aborted && inner.signal.aborted);
        expect([outer.state, inner.state]).toEqual(['lost', 'lost']);
      }),
    );
    await expect(work).rejects.toThrow(LeaseLostError);
  });

  it('hands out a signal that is aborted already when it is asked for late', async () => {
    const [ours, admin] = [open({ watchdogLeaseMs: 600 }), open()];
    const lease = await ours.locks.acquire('a');
    await admin.locks.get('a').forceRelease();
    await eventually(() => lease.state === 'lost');
    expect(lease.signal.aborted).toBe(true);
  });

  it('is suspect and then lost, by the local deadline, when Redis never answers again', async () => {
    const client = open({ watchdogLeaseMs: 900 });
    const lease = await client.locks.acquire('a');
    const { signal } = lease;
    const lostAt = new Promise<number>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve(performance.now());
      });
    });
    const deadline = performance.now() + lease.remainingMs;
    redis.pause();
    await eventually(() => lease.state === 'suspect');
    lease.assertHeld();
    expect(client.eventsOf('suspect')).toHaveLength(1);
    const overdueMs = (await lostAt) - deadline;
    expect(overdueMs).toBeGreaterThan(-900);
    expect(overdueMs).toBeLessThan(PROMPT_MS);
    expect(lease.state).toBe('lost');
    expect(signal.reason).toMatchObject({ reason: 'expired' });
    const { cause, renewalFailedAt, renewalFailedWith, confirmedAt } =
      signal.reason as LeaseLostError;
    expect(cause).toBeInstanceOf(LockBackendError);
    expect(renewalFailedWith).toBe((cause as Error).message);
    expect(renewalFailedAt?.getTime()).toBeGreaterThan(confirmedAt?.getTime() ?? Infinity);
    redis.resume();
    await eventually(async () => !(await client.locks.get('a').isLocked()));
  });

  it('recovers from suspect when Redis answers in time', async () => {
    const client = open({ watchdogLeaseMs: 1_800 });
    const lease = await client.locks.acquire('a');
    redis.pause();
    await eventually(() => lease.state === 'suspect');
    redis.resume();
    await eventually(() => lease.state === 'held');
    lease.assertHeld();
    expect(client.eventsOf('recovered')).toMatchObject([{ type: 'recovered', name: 'a' }]);
    expect(lease.signal.aborted).toBe(false);
  });

  it('is noticed by assertHeld() before any timer has run', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 50 });
    stall(60);
    expect(lease.state).toBe('lost');
    expect(() => {
      lease.assertHeld();
    }).toThrow(LeaseLostError);
    expect(lease.signal.aborted).toBe(true);
  });

  it('says for how long the process stood still', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { leaseTimeMs: 1_200 });
    const before = await locks.acquire('b', { leaseTimeMs: 100 });
    await eventually(() => before.state === 'lost');
    stall(1_500);
    expect(lease.state).toBe('lost');
    const { stoodStillMs, confirmedAgoMs } = lossOf(lease.signal.reason);
    // The timer that tells was due after 1 s at the latest.
    expect(stoodStillMs).toBeGreaterThanOrEqual(500 - TICK_MS);
    expect(stoodStillMs).toBeLessThanOrEqual(confirmedAgoMs);
    expect(lossOf(before.signal.reason).stoodStillMs).toBeLessThan(500);
    expect((lease.signal.reason as Error).message).toContain(`stood still for ${stoodStillMs} ms`);
  });

  it('is released when it was lost by the clock alone, so that others need not wait for Redis', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 20_000 }), open()];
    const lease = await ours.locks.acquire('a', { leaseTimeMs: 200 });
    // A renewal that the client does not know of, as after a lost answer.
    await redis.admin.pexpire('a', 60_000);
    await eventually(() => lease.state === 'lost');
    await eventually(async () => !(await others.locks.get('a').isLocked()), {
      withinMs: PROMPT_MS,
    });
  });
}

function describeSuspension({ redis, open, openRival = open }: LockSuite): void {
  /** The monotonic clock stands still while the wall clock goes on, as on a suspended Linux. */
  const suspendableClock = () => {
    const clock = {
      ...systemClock,
      suspendedMs: 0,
      wall: () => systemClock.wall() + clock.suspendedMs,
    };
    return clock;
  };

  /** The call is sent before a suspension, and answered after it. */
  const across = async <T>(clock: { suspendedMs: number }, call: () => Promise<T>) => {
    redis.pause();
    const calling = call();
    await new Promise(setImmediate);
    clock.suspendedMs = 60_000;
    redis.resume();
    return calling;
  };

  it('makes every lease suspect, and assertHeld() throws, until a renewal has answered', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    const lease = await locks.acquire('a');
    clock.suspendedMs = 10 * 60_000;
    expect(lease.state).toBe('suspect');
    expect(() => {
      lease.assertHeld();
    }).toThrow(
      expect.objectContaining({
        ...{ code: 'LEASE_LOST', reason: 'suspended' },
        stoodStillMs: expect.closeTo(10 * 60_000, -3),
        confirmedAgoMs: expect.any(Number),
      }),
    );
    expect(lease.signal.aborted).toBe(false);
    await eventually(() => lease.state === 'held');
    lease.assertHeld();
    await lease.release();
  });

  it('is not made undone by the answer to a renewal that was sent before it', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    const lease = await locks.acquire('a');
    redis.pause();
    const renewing = lease.renew();
    clock.suspendedMs = 60_000;
    redis.resume();
    await renewing;
    expect(lease.state).toBe('suspect');
    await lease.renew();
    expect(lease.state).toBe('held');
    lease.assertHeld();
  });

  it('loses a lease that Redis has ended meanwhile, at the first look at it', async () => {
    const clock = suspendableClock();
    const [ours, others] = [open({ clock }), openRival()];
    const lease = await ours.locks.acquire('a');
    clock.suspendedMs = 60_000;
    await redis.admin.del('a');
    const next = await others.locks.acquire('a', { waitTimeMs: 0 });
    expect(() => {
      lease.assertHeld();
    }).toThrow(LeaseLostError);
    await eventually(() => lease.state === 'lost');
    next.assertHeld();
  });

  it('does not mind a wall clock that is set back, or moves a little', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    const lease = await locks.acquire('a');
    for (const step of [-3_600_000, 40, 0]) {
      clock.suspendedMs = step;
      lease.assertHeld();
      expect(lease.state).toBe('held');
    }
  });

  it('grants a nested call only what Redis has confirmed since', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    await locks.get('a').isLocked();
    await locks.using('a', async () => {
      const nested = await across(clock, () => locks.acquire('a'));
      nested.assertHeld();
      await nested.release();
    });
  });

  it('leaves a longer lease only its rest when a nested call is granted a shorter one', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    const work = async (lease: Lease) => {
      clock.suspendedMs = 10 * 60_000;
      await locks.using('a', () => undefined, { leaseTimeMs: 3_000 });
      // Made clocks may be seconds apart.
      expect(lease.remainingMs).toBeLessThan(30_000);
    };
    await locks.using('a', work, { leaseTimeMs: 60_000 });
  });

  it('renews a lease at once of which little is left then', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    await locks.using('a', async (lease) => {
      clock.suspendedMs = 28_000;
      await locks.using('a', () => undefined, { leaseTimeMs: 2_000 });
      await eventually(() => lease.remainingMs > 10_000);
      lease.assertHeld();
    });
  });

  it('grants nothing that was asked for before and answered after it without another look', async () => {
    const clock = suspendableClock();
    const { locks } = open({ clock });
    await locks.get('a').isLocked();
    const lease = await across(clock, () => locks.acquire('a'));
    lease.assertHeld();
    // The first grant may have ended in Redis long ago: it was released, and asked for again.
    expect(lease.owner).toMatch(/:2$/);
    await lease.release();
    await eventually(async () => !(await locks.get('a').isLocked()));
  });
}
