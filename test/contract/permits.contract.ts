import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LeaseLostError, LockShutdownError, LockTimeoutError } from 'nestjs-redis-lock/core';
import type { Semaphore } from '../../libs/redis-lock/src/primitives/semaphore/semaphore.js';
import type { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';
import { timeoutOf } from '../support/redisson-permits.js';
import { Stopwatch } from '../support/stopwatch.js';
import { describeCapacityOption } from './capacity.contract.js';
import { Gate, PROMPT_MS, roundTrips, watch, type Stage } from './suite.js';

/** The specs of the behaviour suites need these parts of a semaphore. */
export interface PermitSuite {
  readonly redis: Stage;
  /** Another client of the semaphore, as another process would be. */
  readonly open: OpenLocks<SemaphoreService>;
}

/** A semaphore on a real server, whose clients can be cut off. */
interface PermitCrashSuite extends PermitSuite {
  readonly redis: RedisFixture;
}

/** Every semaphore whose permits are leases passes these specs. */
export function describePermitContract(kind: string, suite: PermitCrashSuite): void {
  describe(kind, () => {
    describePermitBehaviour(suite);
    describePermitCrash(suite);
  });
}

/** These specs need no real server. */
export function describePermitBehaviour(suite: PermitSuite): void {
  describeCapacity(suite);
  describeCapacityOption(suite, (locks, capacity) =>
    locks.get('a', capacity === undefined ? undefined : { capacity }),
  );
  describePermitWaiting(suite);
  describePermitRelease(suite);
  describePermitLoss(suite);
}

function describeCapacity({ redis, open }: PermitSuite): void {
  describe.each([1, 3])('the capacity, with callers of %d clients', (clients) => {
    /** So many permits, and for each caller the semaphore of its client. */
    const shared = async (permits: number) => {
      const semaphores = Array.from({ length: clients }, () => open().locks.get('a'));
      await semaphores[0]?.setPermits(permits);
      return (caller: number) => semaphores[caller % clients] as Semaphore;
    };

    it.each([
      ['one permit each', () => 1],
      ['one to four permits each', (i: number) => (i % 4) + 1],
    ])('is never exceeded, and all callers get in: %s', async (_, permitsOf) => {
      const semaphoreOf = await shared(4);
      const inside = { now: 0, most: 0, entries: 0 };
      await Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          const permits = permitsOf(i);
          const work = async () => {
            inside.now += permits;
            inside.entries += 1;
            inside.most = Math.max(inside.most, inside.now);
            await roundTrips(redis, 1);
            inside.now -= permits;
          };
          await semaphoreOf(i).using(work, { permits });
        }),
      );
      expect(inside).toMatchObject({ now: 0, entries: 60 });
      expect(inside.most).toBeLessThanOrEqual(4);
      expect(await redis.admin.get('a')).toBe('4');
      expect(await redis.admin.exists(timeoutOf('a'))).toBe(0);
    });

    it('is used in full: so many are inside at once', async () => {
      const semaphoreOf = await shared(4);
      const allInside = new Gate();
      let inside = 0;
      const work = async () => {
        inside += 1;
        if (inside === 4) allInside.open();
        await allInside.opened;
      };
      await Promise.all(Array.from({ length: 4 }, (_, i) => semaphoreOf(i).using(work)));
      expect(inside).toBe(4);
    });

    it('is what so many attempts get that do not wait', async () => {
      const semaphoreOf = await shared(5);
      const attempts = Array.from({ length: 20 }, (_, i) =>
        semaphoreOf(i).tryAcquire({ permits: 2 }),
      );
      const leases = (await Promise.all(attempts)).filter((lease) => lease !== null);
      expect(leases).toHaveLength(2);
      expect(await semaphoreOf(0).availablePermits()).toBe(1);
      expect(await semaphoreOf(0).acquiredPermits()).toBe(4);
    });
  });

  it('is not shared with a semaphore of another name', async () => {
    const { locks } = open();
    await locks.get('a').setPermits(1);
    await locks.get('b').setPermits(1);
    await locks.get('a').acquire();
    expect(await locks.get('b').tryAcquire()).not.toBeNull();
  });
}

function describePermitWaiting({ redis, open }: PermitSuite): void {
  describe('waiting', () => {
    const listeners = async () => (await redis.wakeUpChannels()).length;
    /** One client holds the only permit of a semaphore; another client has the same semaphore. */
    const contended = async (settings: Parameters<typeof open>[0] = {}) => {
      const [holder, waiter] = [open(settings), open(settings)];
      const semaphore = holder.locks.get('a');
      await semaphore.setPermits(1);
      const lease = await semaphore.acquire();
      return { semaphore, lease, holder, waiter, other: waiter.locks.get('a') };
    };

    it('ends with a release, promptly and not by polling', async () => {
      const { lease, other } = await contended({ pollIntervalMs: 60_000 });
      const waiting = other.acquire({ waitTimeMs: 60_000 });
      await eventually(async () => (await listeners()) === 1);
      await roundTrips(redis, 3);
      const sinceRelease = new Stopwatch();
      await lease.release();
      (await waiting).assertHeld();
      expect(sinceRelease.ms).toBeLessThan(PROMPT_MS);
    });

    it('ends when the lease of the next permit ends, without any message', async () => {
      const { locks } = open({ pollIntervalMs: 60_000 });
      const semaphore = locks.get('a');
      await semaphore.setPermits(1);
      const sinceAcquire = new Stopwatch();
      const first = await semaphore.acquire({ leaseTimeMs: 300 });
      const second = await semaphore.acquire();
      expect(sinceAcquire.realMs).toBeGreaterThan(280);
      expect(sinceAcquire.ms).toBeLessThan(300 + PROMPT_MS);
      second.assertHeld();
      expect(first.state).toBe('lost');
    });

    it('ends when another client has shortened the lease of the next permit, which counts once', async () => {
      const [ours, others] = [open().locks.get('a'), open().locks.get('a')];
      await ours.setPermits(1);
      const [id = ''] = (await ours.acquire()).permitIds;
      expect(await others.updateLeaseTime(id, 50)).toBe(true);
      await others.acquire();
      expect(await others.tryAcquire()).toBeNull();
      expect(await others.permits()).toBe(1);
      expect(await others.acquiredPermits()).toBe(1);
    });

    it('ends without a message: the poll finds out', async () => {
      const { other } = await contended({ pollIntervalMs: 100 });
      const waiting = other.acquire();
      await eventually(async () => (await listeners()) === 1);
      await redis.admin.incrby('a', 1);
      (await waiting).assertHeld();
    });

    it.each([
      ['addPermits', (s: Semaphore) => s.addPermits(1)],
      ['setPermits', (s: Semaphore) => s.setPermits(2)],
    ])('ends with %s', async (_, more) => {
      const { other, semaphore } = await contended({ pollIntervalMs: 60_000 });
      const waiting = other.acquire({ waitTimeMs: 60_000 });
      await eventually(async () => (await listeners()) === 1);
      await roundTrips(redis, 3);
      await more(semaphore);
      (await waiting).assertHeld();
    });

    it('goes on while the number of permits is not set', async () => {
      const semaphore = open({ pollIntervalMs: 60_000 }).locks.get('a');
      expect(await semaphore.tryAcquire()).toBeNull();
      const waiting = watch(semaphore.acquire({ permits: 3, waitTimeMs: 60_000 }));
      await eventually(async () => (await listeners()) === 1);
      await roundTrips(redis, 3);
      expect(waiting.state).toBe('pending');
      expect(await open().locks.get('a').trySetPermits(3)).toBe(true);
      expect((await waiting.promise).permitIds).toHaveLength(3);
    });

    it('ends with a LockTimeoutError that says when the next permit ends', async () => {
      const { lease, other, waiter } = await contended();
      const stopwatch = new Stopwatch();
      const error = await other.acquire({ waitTimeMs: 400 }).catch((e: unknown) => e);
      expect(stopwatch.realMs).toBeGreaterThan(390);
      expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
      expect(error).toBeInstanceOf(LockTimeoutError);
      const { retryAfterMs } = error as LockTimeoutError;
      expect(retryAfterMs).toBeGreaterThan(20_000);
      expect(retryAfterMs).toBeLessThanOrEqual(30_000);
      expect(waiter.eventsOf('timed-out')).toHaveLength(1);
      expect(await other.tryAcquire({ waitTimeMs: 400 })).toBeNull();
      await lease.release();
      expect(await other.tryAcquire()).not.toBeNull();
    });

    it('ends with null in a try that has found too few, when its time is over', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(5);
      expect((await semaphore.tryAcquire({ permits: 4 }))?.permitIds).toHaveLength(4);
      const stopwatch = new Stopwatch();
      expect(await semaphore.tryAcquire({ permits: 2, waitTimeMs: 400 })).toBeNull();
      expect(stopwatch.realMs).toBeGreaterThanOrEqual(399);
      expect(stopwatch.ms).toBeLessThan(400 + PROMPT_MS);
      expect(await semaphore.availablePermits()).toBe(1);
    });

    it('ends with the reason of the signal, and leaves the permit to the next', async () => {
      const { lease, other } = await contended();
      const abort = new AbortController();
      const given = watch(other.acquire({ permits: 1, signal: abort.signal }));
      const next = other.acquire();
      await eventually(async () => (await listeners()) === 1);
      const reason = new Error('enough');
      abort.abort(reason);
      await expect(given.promise).rejects.toBe(reason);
      await lease.release();
      (await next).assertHeld();
    });

    it('serves the callers of a process in their order, small ones after large ones', async () => {
      const { locks } = open();
      const semaphore = locks.get('a');
      await semaphore.setPermits(3);
      const first = await semaphore.acquire({ permits: 2 });
      const order: number[] = [];
      const callers = [3, 1, 2, 1].map(async (permits, i) => {
        const lease = await semaphore.acquire({ permits });
        order.push(i);
        await lease.release();
      });
      await eventually(async () => (await listeners()) === 1);
      await first.release();
      await Promise.all(callers);
      expect(order).toEqual([0, 1, 2, 3]);
    });

    it('ends with a LockShutdownError when the application closes', async () => {
      const { other, waiter } = await contended();
      const waiting = other.acquire({ waitTimeMs: Infinity });
      const refused = expect(waiting).rejects.toBeInstanceOf(LockShutdownError);
      await eventually(async () => (await listeners()) === 1);
      await waiter.close();
      await refused;
    });
  });
}

function describePermitRelease({ redis, open }: PermitSuite): void {
  describe('a release', () => {
    it('releases all permits of the lease, once', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(5);
      const lease = await semaphore.acquire({ permits: 3 });
      expect(await semaphore.availablePermits()).toBe(2);
      await Promise.all([lease.release(), lease.release()]);
      await lease.release();
      expect(await redis.admin.get('a')).toBe('5');
      expect(lease.state).toBe('released');
    });

    it('comes with the end of the work, also of work that fails', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(2);
      const error = new Error('the work');
      const work = semaphore.using(
        async () => {
          expect(await semaphore.availablePermits()).toBe(0);
          throw error;
        },
        { permits: 2 },
      );
      await expect(work).rejects.toBe(error);
      expect(await semaphore.using((lease) => lease.permitIds.length)).toBe(1);
      expect(await semaphore.availablePermits()).toBe(2);
    });

    it('is tried on while Redis does not answer', async () => {
      const client = open({ watchdogLeaseMs: 3_000 });
      const semaphore = client.locks.get('a');
      await semaphore.setPermits(1);
      const lease = await semaphore.acquire();
      redis.pause();
      const releasing = watch(lease.release());
      redis.resume();
      await releasing.promise.catch(() => undefined);
      await eventually(async () => (await redis.admin.get('a')) === '1');
    });

    it('does not come back for an attempt that was aborted under way', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(3);
      for (let i = 0; i < 20; i += 1) {
        const abort = new AbortController();
        const attempt = semaphore.acquire({ permits: 2, signal: abort.signal });
        if (i % 2 === 0)
          setImmediate(() => {
            abort.abort();
          });
        else abort.abort();
        await attempt.then((lease) => lease.release()).catch(() => undefined);
      }
      await eventually(async () => (await redis.admin.get('a')) === '3');
    });
  });
}

function describePermitLoss({ redis, open }: PermitSuite): void {
  describe('a lease', () => {
    it('is renewed for as long as the work takes, and all its permits', async () => {
      const client = open({ watchdogLeaseMs: 800 });
      const semaphore = client.locks.get('a');
      await semaphore.setPermits(3);
      const lease = await semaphore.acquire({ permits: 3 });
      await eventually(() => client.eventsOf('renewed').length >= 4);
      lease.assertHeld();
      expect(lease.state).toBe('held');
      expect(await open().locks.get('a').tryAcquire()).toBeNull();
      await lease.release();
    });

    it('is not renewed after maxHoldMs', async () => {
      const semaphore = open({ watchdogLeaseMs: 200 }).locks.get('a');
      await semaphore.setPermits(1);
      const lease = await semaphore.acquire({ maxHoldMs: 20 });
      await eventually(() => lease.state === 'lost');
      expect(await open().locks.get('a').tryAcquire({ waitTimeMs: 1_000 })).not.toBeNull();
    });

    it('lasts longer after renew(), with a fixed lease too', async () => {
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(2);
      const lease = await semaphore.acquire({ permits: 2, leaseTimeMs: 1_000 });
      await lease.renew(60_000);
      expect(lease.remainingMs).toBeGreaterThan(50_000);
      for (const id of lease.permitIds)
        expect(await semaphore.remainingTimeMs(id)).toBeGreaterThan(50_000);
    });

    it('is lost, and says so, when one of its permits is gone', async () => {
      const [client, other] = [open({ watchdogLeaseMs: 600 }), open()];
      const semaphore = client.locks.get('a');
      await semaphore.setPermits(2);
      const lease = await semaphore.acquire({ permits: 2 });
      await other.locks.get('a').release(lease.permitIds[1] ?? '');
      await eventually(() => lease.signal.aborted);
      expect(() => lease.assertHeld()).toThrow(LeaseLostError);
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
      // The other permit comes back with the end of its lease.
      await eventually(async () => (await semaphore.availablePermits()) === 2);
    });

    it.each([
      ['', 3],
      [' of a total that was lowered', 2],
    ])('returns its permits after Redis has evicted the leases%s', async (_, total) => {
      const [renewing, fixed] = [open({ watchdogLeaseMs: 600 }), open()];
      const [semaphore, other] = [renewing, fixed].map(({ locks }) =>
        locks.get('a', { capacity: 3 }),
      ) as [Semaphore, Semaphore];
      const lease = await semaphore.acquire();
      const kept = await other.acquire({ leaseTimeMs: 60_000 });
      await semaphore.setPermits(total);
      await redis.admin.del(timeoutOf('a'));
      await expect(kept.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
      await eventually(() => lease.state === 'lost');
      await eventually(async () => (await semaphore.availablePermits()) === total);
      expect(await semaphore.permits()).toBe(total);
    });

    it('returns its permits at a shutdown, too, after Redis has evicted the leases', async () => {
      const [client, other] = [open({ shutdownTimeoutMs: 0 }), open()];
      await client.locks.get('a', { capacity: 3 }).acquire({ permits: 2 });
      await redis.admin.del(timeoutOf('a'));
      await client.close();
      expect(await other.locks.get('a').permits()).toBe(3);
    });

    it('returns nothing twice: another client has released its permit', async () => {
      const [ours, theirs] = [open(), open()];
      const semaphore = ours.locks.get('a', { capacity: 3 });
      const lease = await semaphore.acquire();
      await theirs.locks.get('a').release(lease.permitIds[0] ?? '');
      await expect(lease.release()).rejects.toMatchObject({ reason: 'gone' });
      const after = await semaphore.acquire();
      expect(await semaphore.permits()).toBe(3);
      await after.release();
    });

    it('is lost with the end of a call of its own process that has released one of its permits', async () => {
      const { locks, eventsOf } = open();
      const semaphore = locks.get('a');
      await semaphore.setPermits(3);
      const lease = await semaphore.acquire({ permits: 2, leaseTimeMs: 2_000 });
      const other = await semaphore.acquire();
      await semaphore.release(lease.permitIds[0]?.toUpperCase() ?? '');
      expect(() => lease.assertHeld()).toThrow(LeaseLostError);
      expect(eventsOf('lost')).toMatchObject([{ name: 'a', reason: 'gone' }]);
      other.assertHeld();
      await other.release();
    });

    it('is lost when all keys are deleted, and nothing is made of them by the release', async () => {
      const client = open();
      const semaphore = client.locks.get('a');
      await semaphore.setPermits(2);
      const lease = await semaphore.acquire();
      await redis.admin.del('a', timeoutOf('a'));
      await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' });
      expect(await redis.admin.exists('a', timeoutOf('a'))).toBe(0);
    });

    it('is taken from its holder by a shutdown, who is told so', async () => {
      const client = open({ shutdownTimeoutMs: 0 });
      const semaphore = client.locks.get('a');
      await semaphore.setPermits(2);
      const lease = await semaphore.acquire({ permits: 2 });
      const gate = new Gate();
      lease.signal.addEventListener('abort', gate.open);
      await client.close();
      await gate.opened;
      expect(await redis.admin.get('a')).toBe('2');
      expect(await redis.admin.exists(timeoutOf('a'))).toBe(0);
    });
  });
}

function describePermitCrash({ redis, open }: PermitCrashSuite): void {
  describe('a lease', () => {
    it('ends by itself when its client vanishes, and the permits come back', async () => {
      const connection = new Redis(redis.url);
      const holder = open({ watchdogLeaseMs: 500, connection });
      await eventually(() => connection.status === 'ready');
      const semaphore = open().locks.get('a');
      await semaphore.setPermits(3);
      const lease = await holder.locks.get('a').acquire({ permits: 3 });
      connection.disconnect();
      const sinceEnd = new Stopwatch();
      (await semaphore.acquire({ permits: 3 })).assertHeld();
      expect(sinceEnd.ms).toBeLessThan(500 + PROMPT_MS);
      await eventually(() => lease.state === 'lost');
    });
  });
}
