import { describe, expect, it } from '@jest/globals';
import {
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockStateError,
  LockTimeoutError,
  type Lease,
} from 'nestjs-redis-lock/core';
import { eventually } from '../support/eventually.js';
import {
  Gate,
  PROMPT_MS,
  roundTrips,
  Section,
  stallProcess,
  watch,
  type LockSuite,
} from './suite.js';
import { Stopwatch } from '../support/stopwatch.js';

/** Scopes form a tree; an acquisition joins the innermost live hold of the same name. */
export function describeReentrancy(suite: LockSuite): void {
  describe('re-entrancy', () => {
    describeJoining(suite);
    describeOutliving(suite);
    describeDoubt(suite);
    describeLeaseTimes(suite);
  });
}

/** Where one holder excludes all others, also those of its own process, siblings take turns. */
export function describeSiblings(suite: LockSuite): void {
  describe('siblings', () => {
    describeStrangers(suite);
    describeTurns(suite);
  });
}

function describeJoining({ redis, open, openRival = open }: LockSuite): void {
  it('joins the hold that surrounds the call: same owner, one hold more', async () => {
    const { locks } = open();
    await locks.using('a', async (outer) => {
      expect(outer.holdCount).toBe(1);
      const inner = await locks.using('a', (lease) => {
        lease.assertHeld();
        return lease;
      });
      expect(inner).toMatchObject({ owner: outer.owner, holdCount: 2, state: 'released' });
      outer.assertHeld();
    });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('joins as deep as calls are nested, by each of the three verbs', async () => {
    const { locks } = open();
    await locks.using('a', async (first) => {
      const second = await locks.acquire('a');
      await second.release();
      await locks.using('a', async (third) => {
        await locks.get('a').using(async (fourth) => {
          const fifth = await locks.tryAcquire('a');
          const counts = [first, second, third, fourth, fifth].map((lease) => lease?.holdCount);
          expect(counts).toEqual([1, 2, 2, 3, 4]);
          expect(fifth?.owner).toBe(first.owner);
          await fifth?.release();
        });
      });
    });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('frees the lock only when every hold is released', async () => {
    const [ours, others] = [open(), openRival()];
    await ours.locks.using('a', async () => {
      for (let round = 0; round < 3; round += 1) await ours.locks.using('a', () => undefined);
      expect(await others.locks.tryAcquire('a')).toBeNull();
    });
    await (await others.locks.acquire('a', { waitTimeMs: 0 })).release();
  });

  it('joins an outer hold through the scope of another lock', async () => {
    const { locks } = open();
    await locks.using('a', ({ owner }) =>
      locks.using('b', () =>
        locks.using('a', async (lease) => {
          expect(lease).toMatchObject({ owner, holdCount: 2 });
          expect(CurrentLock.lease()).toBe(lease);
        }),
      ),
    );
    expect(() => CurrentLock.lease()).toThrow(LockStateError);
  });

  it('releases what a join got that was given up: the hold count is never wrong', async () => {
    const [ours, others] = [open(), openRival()];
    await ours.locks.using('a', async (lease) => {
      redis.pause();
      const given = await ours.locks.acquire('a', { waitTimeMs: 30 }).catch((e: unknown) => e);
      redis.resume();
      expect(given).toBeInstanceOf(LockBackendError);
      expect(given).toMatchObject({ outcome: 'unknown', retryable: true });
      const next = await ours.locks.acquire('a');
      expect(next.holdCount).toBe(2);
      await next.release();
      lease.assertHeld();
    });
    await (await others.locks.acquire('a', { waitTimeMs: 0 })).release();
  });
}

function describeStrangers({ open }: LockSuite): void {
  it('never joins outside a scope, even in the same async chain', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    expect(await locks.tryAcquire('a')).toBeNull();
    await expect(locks.using('a', () => 1, { waitTimeMs: 400 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      blockedBy: 'other',
    });
    await lease.release();
  });

  it('opens no scope by acquire: what follows it is not inside', async () => {
    const { locks } = open();
    await locks.using('a', async (lease) => {
      const other = await locks.acquire('b');
      expect(await locks.tryAcquire('b')).toBeNull();
      expect(CurrentLock.lease()).toBe(lease);
      await other.release();
    });
  });

  it('joins only a hold of the same connection and name', async () => {
    const [ours, others] = [open(), open()];
    await ours.locks.using('a', async () => {
      expect(await others.locks.tryAcquire('a')).toBeNull();
      const b = await ours.locks.acquire('b');
      expect(b.holdCount).toBe(1);
      await b.release();
    });
  });
}

function describeTurns({ redis, open, stall = stallProcess }: LockSuite): void {
  it('lets the siblings of one Promise.all take turns, in their order', async () => {
    const { locks } = open();
    const section = new Section();
    const order: number[] = [];
    await locks.using('a', async ({ owner }) => {
      const owners = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          locks.using('a', async (lease) => {
            order.push(i);
            await section.run(() => roundTrips(redis, 2));
            expect(lease.holdCount).toBe(2);
            return lease.owner;
          }),
        ),
      );
      expect(new Set(owners)).toEqual(new Set([owner]));
    });
    expect(section).toMatchObject({ entries: 8, most: 1 });
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('lets siblings take turns on every level', async () => {
    const { locks } = open();
    const section = new Section();
    const branch = () =>
      locks.using('a', () =>
        Promise.all(
          [1, 2, 3].map(() => locks.using('a', () => section.run(() => roundTrips(redis, 1)))),
        ),
      );
    await locks.using('a', () => Promise.all([branch(), branch(), branch()]));
    expect(section).toMatchObject({ entries: 9, most: 1 });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('ends a turn when the child and everything nested in it are released', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const nested = await locks.using('a', () => locks.acquire('a'));
      const sibling = watch(locks.acquire('a'));
      await roundTrips(redis, 3);
      expect(sibling.state).toBe('pending');
      await nested.release();
      await (await sibling.promise).release();
    });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('ends a turn also when the nested hold is released before the child', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const gate = new Gate();
      const child = locks.using('a', async () => {
        await locks.using('a', () => undefined);
        await gate.opened;
      });
      const sibling = watch(locks.acquire('a'));
      await roundTrips(redis, 3);
      expect(sibling.state).toBe('pending');
      gate.open();
      await child;
      await (await sibling.promise).release();
    });
  });

  it('takes two bare acquire in one scope for siblings', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const second = watch(locks.acquire('a'));
      await roundTrips(redis, 3);
      expect(second.state).toBe('pending');
      await first.release();
      await (await second.promise).release();
    });
  });

  it('spends the waitTimeMs of a child on waiting for its sibling', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const stopwatch = new Stopwatch();
      const error = await locks.acquire('a', { waitTimeMs: 60 }).catch((e: unknown) => e);
      expect(stopwatch.ms).toBeLessThan(60 + PROMPT_MS);
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ blockedBy: 'sibling', lockName: 'a' });
      // Node's timers may be a little early.
      expect((error as LockTimeoutError).waitedMs).toBeGreaterThan(55);
      expect((error as Error).message).toContain('another branch of the same scope');
      first.assertHeld();
      await first.release();
    });
  });

  it('refuses a try at once while a sibling has the turn', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const sent = await redis.commandsDuring(async () => {
        expect(await locks.tryAcquire('a')).toBeNull();
        await expect(locks.acquire('a', { waitTimeMs: 0 })).rejects.toMatchObject({
          blockedBy: 'sibling',
        });
      });
      expect(sent).toEqual({});
      await first.release();
      const second = await locks.tryAcquire('a');
      expect(second?.holdCount).toBe(2);
      await second?.release();
    });
  });

  it('passes the turn on when the one that waits for it is aborted or runs out of time', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const abort = new AbortController();
      const aborted = locks.acquire('a', { signal: abort.signal });
      const late = locks.acquire('a', { waitTimeMs: 20 });
      const patient = locks.acquire('a');
      abort.abort(new Error('no time'));
      await expect(aborted).rejects.toThrow('no time');
      await expect(late).rejects.toThrow(LockTimeoutError);
      await first.release();
      await (await patient).release();
    });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('blames the sibling, and passes the turn on, when the turn comes with the last moment', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const late = locks.acquire('a', { waitTimeMs: 20 }).catch((e: unknown) => e);
      const next = locks.acquire('a');
      // Time is up, but no timer can tell before the turn is passed on.
      stall(30);
      await first.release();
      const error = await late;
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ blockedBy: 'sibling', lockName: 'a' });
      expect(await next).toMatchObject({ holdCount: 2, state: 'held' });
      await (await next).release();
    });
    expect(await locks.get('a').isLocked()).toBe(false);
  });

  it('passes the turn on when a child fails', async () => {
    const { locks } = open();
    await locks.using('a', async () => {
      const work = () => {
        throw new Error('no stock');
      };
      await expect(locks.using('a', work)).rejects.toThrow('no stock');
      await locks.using('a', () => undefined);
    });
  });

  it('makes it a new owner also while a child keeps the lock: then it waits', async () => {
    const { locks } = open();
    const gate = new Gate();
    let late: Promise<Lease> | undefined;
    const child = await locks.using('a', () => {
      late = gate.opened.then(() => locks.acquire('a'));
      return locks.acquire('a');
    });
    gate.open();
    const waiting = watch(late as Promise<Lease>);
    await roundTrips(redis, 4);
    expect(waiting.state).toBe('pending');
    await child.release();
    const lease = await waiting.promise;
    expect(lease.owner).not.toBe(child.owner);
    await lease.release();
  });

  it('turns a join whose parent was released while it waited into a top-level acquisition', async () => {
    const { locks } = open();
    const parts = await locks.using('a', async () => {
      const first = await locks.acquire('a');
      return { first, second: locks.acquire('a') };
    });
    const second = watch(parts.second);
    await roundTrips(redis, 3);
    expect(second.state).toBe('pending');
    await parts.first.release();
    const lease = await second.promise;
    expect(lease).toMatchObject({ holdCount: 1, state: 'held' });
    expect(lease.owner).not.toBe(parts.first.owner);
    await lease.release();
  });

  it('tells a child that waits for its sibling at once that the parent is lost', async () => {
    const [ours, admin] = [open({ watchdogLeaseMs: 300 }), open()];
    const work = ours.locks.using('a', async (lease) => {
      await ours.locks.acquire('a');
      const waiting = watch(ours.locks.acquire('a', { waitTimeMs: 60_000 }));
      await admin.locks.get('a').forceRelease();
      await eventually(() => lease.state === 'lost');
      await eventually(() => waiting.state !== 'pending', { withinMs: PROMPT_MS });
      await expect(waiting.promise).rejects.toThrow(LeaseLostError);
    });
    await expect(work).rejects.toThrow(LeaseLostError);
  });
}

function describeOutliving({ redis, open, openRival = open }: LockSuite): void {
  it('lets a child that outlives its parent keep the lock, and the watchdog goes on', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 800 }), openRival()];
    const child = await ours.locks.using('a', () => ours.locks.acquire('a'));
    expect(child).toMatchObject({ state: 'held', holdCount: 2 });
    const renewals = ours.eventsOf('renewed').length;
    await eventually(() => ours.eventsOf('renewed').length >= renewals + 3);
    child.assertHeld();
    expect(await others.locks.tryAcquire('a')).toBeNull();
    await child.release();
    expect(await others.locks.get('a').isLocked()).toBe(false);
  });

  it('lets a child keep the lock whose answer comes after its parent was released', async () => {
    const [ours, others] = [open({ watchdogLeaseMs: 1_000 }), openRival()];
    const parent = await ours.locks.acquire('a');
    await parent.release();
    let joining: Promise<Lease> | undefined;
    await ours.locks.using('a', async () => {
      redis.pause();
      joining = ours.locks.acquire('a');
      // The join is on its way when the parent is released.
      await new Promise(setImmediate);
      setImmediate(() => redis.resume());
    });
    const child = await joining;
    // It is not the first: gauges count such a hold once.
    expect(child).toMatchObject({ state: 'held', holdCount: 2 });
    child?.assertHeld();
    expect(await others.locks.tryAcquire('a')).toBeNull();
    await eventually(() => ours.eventsOf('renewed').length >= 3);
    child?.assertHeld();
    await child?.release();
    expect(await others.locks.get('a').isLocked()).toBe(false);
  });

  it('makes an acquisition in a leftover scope a new top-level owner', async () => {
    const { locks } = open();
    const gate = new Gate();
    let late: Promise<Lease> | undefined;
    const owner = await locks.using('a', (lease) => {
      late = gate.opened.then(() => locks.acquire('a'));
      return lease.owner;
    });
    gate.open();
    const lease = await late;
    expect(lease?.holdCount).toBe(1);
    expect(lease?.owner).not.toBe(owner);
    await lease?.release();
  });
}

function describeDoubt({ redis, open }: LockSuite): void {
  it('rejects a nested call with LeaseLostError at once when the parent is lost', async () => {
    const [ours, admin] = [open({ watchdogLeaseMs: 300 }), open()];
    const work = ours.locks.using('a', async (lease) => {
      await admin.locks.get('a').forceRelease();
      await eventually(() => lease.state === 'lost');
      const sent = await redis.commandsDuring(async () => {
        await expect(ours.locks.acquire('a')).rejects.toThrow(LeaseLostError);
        await expect(ours.locks.tryAcquire('a')).rejects.toThrow(LeaseLostError);
        await expect(ours.locks.using('a', () => 1)).rejects.toThrow(LeaseLostError);
      });
      expect(sent).toEqual({});
    });
    await expect(work).rejects.toThrow(LeaseLostError);
  });

  it('learns of the loss when it asks: a nested call never takes the lock for a lost parent', async () => {
    const [ours, others] = [open(), open()];
    const work = ours.locks.using('a', async (lease) => {
      await others.locks.get('a').forceRelease();
      await expect(ours.locks.acquire('a')).rejects.toMatchObject({ reason: 'gone' });
      expect(lease.state).toBe('lost');
      await (await others.locks.acquire('a', { waitTimeMs: 0 })).release();
    });
    await expect(work).rejects.toThrow(LeaseLostError);
  });

  it('waits for the verdict while the parent is suspect, and joins when it is held after all', async () => {
    const { locks } = open({ watchdogLeaseMs: 1_500 });
    await locks.using('a', async (lease) => {
      redis.pause();
      await eventually(() => lease.state === 'suspect');
      const joining = watch(locks.acquire('a'));
      await new Promise(setImmediate);
      expect(joining.state).toBe('pending');
      redis.resume();
      const child = await joining.promise;
      expect(child).toMatchObject({ holdCount: 2, state: 'held', owner: lease.owner });
      await child.release();
    });
  });

  it('waits for the verdict while the parent is suspect, and no longer', async () => {
    const { locks, eventsOf } = open({ watchdogLeaseMs: 1_500 });
    const work = locks.using('a', async (lease) => {
      redis.pause();
      await eventually(() => eventsOf('suspect').length > 0);
      const joining = locks.acquire('a', { waitTimeMs: 60_000 });
      await expect(joining).rejects.toThrow(LeaseLostError);
      expect(lease.state).toBe('lost');
      redis.resume();
    });
    await expect(work).rejects.toThrow(LeaseLostError);
    await eventually(async () => !(await locks.get('a').isLocked()));
  });
}

function describeLeaseTimes({ open }: LockSuite): void {
  it('never shortens the lease by a join, nor by its release', async () => {
    const { locks } = open();
    await locks.using('a', async (lease) => {
      const child = await locks.acquire('a', { leaseTimeMs: 500 });
      expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(25_000);
      expect(lease.remainingMs).toBeGreaterThan(25_000);
      await child.release();
      expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(25_000);
    });
  });

  it('prolongs the lease by a join that asks for more', async () => {
    const { locks } = open();
    await locks.using('a', async (lease) => {
      const child = await locks.acquire('a', { leaseTimeMs: 90_000 });
      expect(await locks.get('a').remainingTimeMs()).toBeGreaterThan(80_000);
      expect(lease.remainingMs).toBeGreaterThan(80_000);
      await child.release();
    });
  });

  it('renews while any hold of the owner asked for the watchdog', async () => {
    const client = open({ watchdogLeaseMs: 1_200 });
    const { locks, events } = client;
    const work = locks.using(
      'a',
      async (lease) => {
        const child = await locks.acquire('a');
        await eventually(() => client.eventsOf('renewed').length >= 3);
        lease.assertHeld();
        await child.release();
        // From here on no hold asks for the watchdog: the fixed lease ends.
        await eventually(() => lease.state === 'lost');
      },
      { leaseTimeMs: 1_200 },
    );
    await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' });
    expect(events.map(({ type }) => type)).not.toContain('suspect');
  });

  it('renews for a watched parent whatever a nested hold with a fixed lease asks for', async () => {
    const client = open({ watchdogLeaseMs: 800 });
    const { locks } = client;
    await locks.using('a', async (lease) => {
      await locks.using('a', () => eventually(() => client.eventsOf('renewed').length >= 4), {
        leaseTimeMs: 20,
      });
      lease.assertHeld();
    });
  });
}
