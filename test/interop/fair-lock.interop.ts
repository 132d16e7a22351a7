import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FairLockService } from 'nestjs-redis-lock';
import { eventually, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { describeExclusive } from './exclusive.suite.js';
import { Redisson, useRedisson } from './redisson.js';
import { BY_MESSAGE_MS, LONG_MS, MS } from './sides.js';

const ON = ['fairLock', 'a'] as const;
const QUEUE = 'redisson_lock_queue:{a}';
/** For so long a dead Node waiter may keep other Node waiters from the lock. */
const DEAD_HEAD_MS = 5_000;

describe('FairLockService and RFairLock', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  const open = useLocks(redis, (context) => new FairLockService(context));

  describeExclusive({
    ...{ redis, java, open, theirs: 'fairLock', javaSleepsOn: Redisson.is316 },
    ours: (locks) => locks.get('a'),
  });

  const queued = (count: number) =>
    eventually(async () => (await redis.admin.llen(QUEUE)) === count);
  const nothingQueued = async () => {
    await queued(0);
    expect(await redis.admin.exists('redisson_lock_timeout:{a}')).toBe(0);
  };

  /** Each waits from the moment it is named; `order` tells when it got in, and it leaves at once. */
  const line = () => {
    const order: string[] = [];
    const all: Promise<unknown>[] = [];
    const arrive = async (visit: Promise<unknown>) => {
      all.push(visit);
      await queued(all.length);
    };
    const over = () => Promise.all(all);
    const node = (name: string, locks: FairLockService) =>
      arrive(locks.using('a', () => order.push(name), { waitTimeMs: LONG_MS }));
    const javaThread = (name: string) => {
      const visit = async () => {
        expect(await java.current.call(name, ON, 'tryLock', LONG_MS, MS)).toBe(true);
        order.push(name);
        await java.current.call(name, ON, 'unlock');
      };
      return arrive(visit());
    };
    return { order, over, node, javaThread };
  };

  describe('waiters of both sides get in as they came', () => {
    it.each(['Node', 'Java'])('while %s holds it', async (holder) => {
      const [ours, others] = [open(), open()];
      const held = holder === 'Node' ? await ours.locks.acquire('a') : null;
      if (!held) await java.current.call('A', ON, 'lock');
      const { order, over, node, javaThread } = line();
      await javaThread('J1');
      await node('N1', ours.locks);
      await javaThread('J2');
      await node('N2', others.locks);
      await node('N3', ours.locks);
      await javaThread('J3');
      await (held ? held.release() : java.current.call('A', ON, 'unlock'));
      await over();
      expect(order).toEqual(['J1', 'N1', 'J2', 'N2', 'N3', 'J3']);
      await nothingQueued();
    });
  });

  describe('a waiter that leaves', () => {
    it('frees its place at once when it is one of Node', async () => {
      const { locks } = open();
      await java.current.call('A', ON, 'lock');
      const leaving = new AbortController();
      const aborted = locks.acquire('a', { signal: leaving.signal });
      await queued(1);
      const waiting = java.current.call('B', ON, 'tryLock', LONG_MS, MS);
      await queued(2);
      leaving.abort(new Error('left'));
      await expect(aborted).rejects.toThrow('left');
      await queued(1);
      const sinceUnlock = new Stopwatch();
      await java.current.call('A', ON, 'unlock');
      expect(await waiting).toBe(true);
      expect(sinceUnlock.ms).toBeLessThan(BY_MESSAGE_MS);
      await java.current.call('B', ON, 'unlock');
      await nothingQueued();
    });

    it('frees its place when its time is over and it is one of Java', async () => {
      const { locks } = open();
      const held = await locks.acquire('a');
      const leaving = java.current.call('A', ON, 'tryLock', 300, MS);
      await queued(1);
      const waiting = locks.acquire('a', { waitTimeMs: LONG_MS });
      await queued(2);
      expect(await leaving).toBe(false);
      await queued(1);
      const sinceRelease = new Stopwatch();
      await held.release();
      const lease = await waiting;
      expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
      await lease.release();
      await nothingQueued();
    });
  });

  describe('a waiter that dies at the head of the queue', () => {
    /** A Node waiter that is heard of no more, ready to wait so long. */
    const deadNode = async (waitTimeMs: number) => {
      const connection = new Redis(redis.url);
      const { locks } = open({ connection });
      locks.acquire('a', { waitTimeMs }).catch(() => undefined);
      await queued(1);
      return () => {
        connection.disconnect();
      };
    };

    it('is passed over for a Node waiter in a few seconds', async () => {
      const held = await open().locks.acquire('a');
      const die = await deadNode(LONG_MS);
      const waiting = open().locks.acquire('a', { waitTimeMs: LONG_MS });
      await queued(2);
      die();
      await held.release();
      const sinceRelease = new Stopwatch();
      const lease = await waiting;
      expect(sinceRelease.ms).toBeLessThan(DEAD_HEAD_MS + BY_MESSAGE_MS);
      await lease.release();
      await nothingQueued();
    });

    it('is passed over for a Java waiter as soon, when a Node waiter is in the queue', async () => {
      const held = await open().locks.acquire('a');
      const die = await deadNode(LONG_MS);
      const waiting = java.current.call('A', ON, 'tryLock', LONG_MS, MS);
      await queued(2);
      const behind = open().locks.acquire('a', { waitTimeMs: LONG_MS });
      await queued(3);
      die();
      await held.release();
      const sinceRelease = new Stopwatch();
      expect(await waiting).toBe(true);
      expect(sinceRelease.ms).toBeLessThan(DEAD_HEAD_MS + BY_MESSAGE_MS);
      await java.current.call('A', ON, 'unlock');
      await (await behind).release();
      await nothingQueued();
    });

    it('keeps a Java waiter that is alone behind it until its score has passed', async () => {
      const held = await open().locks.acquire('a', { leaseTimeMs: 2_000 });
      const die = await deadNode(2_000);
      const sinceArrival = new Stopwatch();
      const waiting = java.current.call('A', ON, 'tryLock', LONG_MS, MS);
      await queued(2);
      die();
      await held.release().catch(() => undefined);
      expect(await waiting).toBe(true);
      // The waiter waited for the rest of the lease, and for the time the dead one wanted to wait.
      expect(sinceArrival.realMs).toBeGreaterThan(1_500);
      expect(sinceArrival.ms).toBeLessThan(4_000 + BY_MESSAGE_MS);
      await java.current.call('A', ON, 'unlock');
      await nothingQueued();
      // Java took the dead one out of its own keys; what we know of it is ours to take away.
      await open().locks.using('a', () => undefined);
      await redis.admin.del('nestjs_fair_waiting:{a}');
    });

    it('keeps Node waiters until its score has passed when it is one of Java, and they do not ask without end', async () => {
      const mortal = await java.start();
      const held = await open().locks.acquire('a', { leaseTimeMs: 2_000 });
      mortal.call('A', ON, 'tryLock', 2_000, MS).catch(() => undefined);
      await queued(1);
      const sinceArrival = new Stopwatch();
      const waiting = open().locks.acquire('a', { waitTimeMs: LONG_MS });
      await queued(2);
      await mortal.kill();
      await held.release().catch(() => undefined);
      const { evalsha = 0 } = await redis.commandsDuring(async () => {
        await (await waiting).release();
      });
      expect(sinceArrival.ms).toBeLessThan(4_000 + BY_MESSAGE_MS);
      expect(evalsha).toBeLessThanOrEqual(2 * (sinceArrival.realMs / 1_000 + 2));
      await nothingQueued();
    });
  });
});
