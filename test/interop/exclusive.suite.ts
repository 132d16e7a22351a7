import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { queueKeys } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import type { HandedLocks } from '../contract/handed.js';
import { eventually, roundTrips, Section, Stopwatch, watch } from '../support/set-up.js';
import type { Redisson } from './redisson.js';
import {
  BY_MESSAGE_MS,
  LEASE_LOST,
  listening,
  LONG_MS,
  MS,
  NO_POLL,
  NOT_THE_HOLDER,
  WATCHDOG_MS,
  type Sides,
} from './sides.js';

/** Every lock that only one side has at a time passes these specs. */
export function describeExclusive<Locks>(sides: Sides<Locks>): void {
  describeJavaHolds(sides);
  describeNodeHolds(sides);
  if (sides.handed !== undefined) describeNodeHandsOn(sides, sides.handed);
  describeBoth(sides);
}

function describeJavaHolds<Locks>({ redis, java, open, ours, theirs }: Sides<Locks>): void {
  const on = [theirs, 'a'] as const;

  describe('while Java holds it, Node', () => {
    it('is refused, and gets in at the release by its message', async () => {
      const lock = ours(open(NO_POLL).locks);
      expect(await java.current.call('A', on, 'tryLock')).toBe(true);
      expect(await lock.tryAcquire()).toBeNull();
      expect(await lock.isLocked()).toBe(true);
      expect(await lock.remainingTimeMs()).toBeGreaterThan(20_000);
      const waiting = watch(lock.acquire());
      await listening(redis, 1);
      await roundTrips(redis, 3);
      expect(waiting.state).toBe('pending');
      const sinceUnlock = new Stopwatch();
      await java.current.call('A', on, 'unlock');
      const lease = await waiting.promise;
      expect(sinceUnlock.ms).toBeLessThan(BY_MESSAGE_MS);
      expect(await java.current.call('A', on, 'isHeldByCurrentThread')).toBe(false);
      await lease.release();
      expect(await java.current.call('A', on, 'isLocked')).toBe(false);
    });

    it('stays out until the last of several holds is released', async () => {
      const lock = ours(open().locks);
      await java.current.call('A', on, 'lock');
      await java.current.call('A', on, 'lock');
      expect(await lock.tryAcquire()).toBeNull();
      expect(await java.current.call('A', on, 'getHoldCount')).toBe(2);
      await java.current.call('A', on, 'unlock');
      expect(await lock.tryAcquire()).toBeNull();
      await java.current.call('A', on, 'unlock');
      expect((await lock.tryAcquire())?.holdCount).toBe(1);
    });

    it('gets in when the lease ends, and Java has lost it', async () => {
      const lock = ours(open(NO_POLL).locks);
      expect(await java.current.call('A', on, 'tryLock', 0, 600, MS)).toBe(true);
      const sinceLock = new Stopwatch();
      const lease = await lock.acquire();
      expect(sinceLock.realMs).toBeGreaterThan(300);
      expect(sinceLock.ms).toBeLessThan(600 + BY_MESSAGE_MS);
      await expect(java.current.call('A', on, 'unlock')).rejects.toMatchObject(NOT_THE_HOLDER);
      lease.assertHeld();
    });

    it('stays out as long as Java renews it, and gets in soon after a crash', async () => {
      const lock = ours(open().locks);
      const mortal = await java.start(WATCHDOG_MS);
      await mortal.call('A', on, 'lock');
      const sinceLock = new Stopwatch();
      const waiting = watch(lock.acquire({ waitTimeMs: 60_000 }));
      await eventually(() => sinceLock.realMs > 1.5 * WATCHDOG_MS);
      expect(waiting.state).toBe('pending');
      await mortal.kill();
      const sinceCrash = new Stopwatch();
      await waiting.promise;
      expect(sinceCrash.ms).toBeLessThan(WATCHDOG_MS + BY_MESSAGE_MS);
    });

    it('takes it away by force: Java wakes up, and the old holder has lost it', async () => {
      const lock = ours(open().locks);
      await java.current.call('A', on, 'lock');
      const waiting = java.current.call('B', on, 'tryLock', LONG_MS, MS);
      await java.current.parked('B');
      const sinceForce = new Stopwatch();
      expect(await lock.forceRelease()).toBe(true);
      expect(await waiting).toBe(true);
      expect(sinceForce.ms).toBeLessThan(BY_MESSAGE_MS);
      await expect(java.current.call('A', on, 'unlock')).rejects.toMatchObject(NOT_THE_HOLDER);
      await java.current.call('B', on, 'unlock');
      expect(await lock.forceRelease()).toBe(false);
    });
  });
}

function describeNodeHolds<Locks>(sides: Sides<Locks>): void {
  const { redis, java, open, ours, theirs, javaSleepsOn = false } = sides;
  const on = [theirs, 'a'] as const;

  describe('while Node holds it, Java', () => {
    it('is refused, and gets in at the release by its message', async () => {
      const lease = await ours(open().locks).acquire();
      expect(await java.current.call('A', on, 'tryLock')).toBe(false);
      expect(await java.current.call('A', on, 'isLocked')).toBe(true);
      expect(await java.current.call('A', on, 'remainTimeToLive')).toBeGreaterThan(20_000);
      await expect(java.current.call('A', on, 'unlock')).rejects.toMatchObject(NOT_THE_HOLDER);
      lease.assertHeld();
      const waiting = java.current.call('A', on, 'tryLock', LONG_MS, MS);
      await java.current.parked('A');
      const sinceRelease = new Stopwatch();
      await lease.release();
      expect(await waiting).toBe(true);
      expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
      await java.current.call('A', on, 'unlock');
    });

    it('stays out until the last of several holds is released', async () => {
      const lock = ours(open().locks);
      await lock.using(async () => {
        await lock.using(async () => {
          expect(await java.current.call('A', on, 'tryLock')).toBe(false);
        });
        expect(await java.current.call('A', on, 'tryLock')).toBe(false);
      });
      expect(await java.current.call('A', on, 'tryLock')).toBe(true);
      await java.current.call('A', on, 'unlock');
    });

    it('gets in when the lease ends, and Node has lost it', async () => {
      const lease = await ours(open().locks).acquire({ leaseTimeMs: 600 });
      const sinceLock = new Stopwatch();
      expect(await java.current.call('A', on, 'tryLock', LONG_MS, MS)).toBe(true);
      expect(sinceLock.realMs).toBeGreaterThan(300);
      expect(sinceLock.ms).toBeLessThan(600 + BY_MESSAGE_MS);
      await expect(lease.release()).rejects.toMatchObject(LEASE_LOST);
      expect(await java.current.call('A', on, 'isHeldByCurrentThread')).toBe(true);
      await java.current.call('A', on, 'unlock');
    });

    it('stays out as long as Node renews it, and gets in soon after its end', async () => {
      const connection = new Redis(redis.url);
      const lock = ours(open({ connection, watchdogLeaseMs: WATCHDOG_MS }).locks);
      await lock.acquire();
      const sinceLock = new Stopwatch();
      const waitMs = javaSleepsOn ? 4 * WATCHDOG_MS : LONG_MS;
      const waiting = watch(java.current.call('A', on, 'tryLock', waitMs, MS));
      await eventually(() => sinceLock.realMs > 1.5 * WATCHDOG_MS);
      expect(waiting.state).toBe('pending');
      connection.disconnect();
      const sinceCrash = new Stopwatch();
      expect(await waiting.promise).toBe(!javaSleepsOn);
      if (javaSleepsOn) expect(await java.current.call('A', on, 'tryLock')).toBe(true);
      else expect(sinceCrash.ms).toBeLessThan(WATCHDOG_MS + BY_MESSAGE_MS);
      await java.current.call('A', on, 'unlock');
    });

    it('takes it away by force: Node wakes up, and the old holder has lost it', async () => {
      const [holder, waiter] = [open(), open(NO_POLL)];
      const lost = await ours(holder.locks).acquire();
      const waiting = ours(waiter.locks).acquire();
      await listening(redis, 1);
      const sinceForce = new Stopwatch();
      expect(await java.current.call('A', on, 'forceUnlock')).toBe(true);
      const lease = await waiting;
      expect(sinceForce.ms).toBeLessThan(BY_MESSAGE_MS);
      await expect(lost.release()).rejects.toMatchObject(LEASE_LOST);
      await lease.release();
      expect(await java.current.call('A', on, 'forceUnlock')).toBe(false);
    });
  });
}

function describeNodeHandsOn<Locks>(sides: Sides<Locks>, handed: HandedLocks): void {
  const { redis, java, open, ours, theirs } = sides;
  const on = [theirs, 'a'] as const;

  describe('when Node hands it on for a shorter time to one that does not use it, Java', () => {
    const CLAIM_MS = 1_500;
    it.each([
      ['lock', []],
      ['tryLock', [LONG_MS, MS]],
    ])('by %s gets in when that is over', async (method, args) => {
      const { locks, context } = open({ watchdogLeaseMs: 60_000 });
      const lease = await ours(locks).acquire();
      const claim = { aliveMs: LONG_MS, nonce: context.newNonce(), leaseTimeMs: CLAIM_MS };
      const gone = `${randomUUID()}:1`;
      await handed.claim(context, 'a', gone, { ...claim, mode: 'poll' });
      const waiting = java.current.call('A', on, method, ...args);
      await java.current.parked('A');
      // The queue has it for a while yet: else the release would leave it to Java.
      const soon = String(Date.now() + 500);
      for (const kind of ['lock', 'rwlock'] as const) {
        await redis.admin.set(queueKeys('a', kind).opened, `${soon} 0 0 0`, 'PX', 500);
      }
      const sinceRelease = new Stopwatch();
      await lease.release();
      await waiting;
      expect(sinceRelease.ms).toBeLessThan(CLAIM_MS + BY_MESSAGE_MS);
      expect(await java.current.call('A', on, 'isHeldByCurrentThread')).toBe(true);
      await java.current.call('A', on, 'unlock');
    });
  });
}

function describeBoth<Locks>({ java, open, ours, theirs }: Sides<Locks>): void {
  const on = [theirs, 'a'] as const;

  it('lets only one owner in at a time, when both sides come and go', async () => {
    const ROUNDS = 20;
    const section = new Section();
    const fromNode = async () => {
      const lock = ours(open({ waitTimeMs: Infinity }).locks);
      for (let i = 0; i < ROUNDS; i += 1) await lock.using(() => section.run(() => undefined));
    };
    const fromJava = async (client: Redisson, thread: string) => {
      for (let i = 0; i < ROUNDS; i += 1) {
        await client.call(thread, on, 'lock');
        await section.run(() => undefined);
        await client.call(thread, on, 'unlock');
      }
    };
    const other = await java.start();
    await Promise.all([
      ...[fromNode(), fromNode()],
      ...[fromJava(java.current, 'A'), fromJava(java.current, 'B'), fromJava(other, 'A')],
    ]);
    expect(section.entries).toBe(5 * ROUNDS);
    expect(section.most).toBe(1);
  });
}
