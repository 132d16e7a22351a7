import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ReadWriteLockService } from 'nestjs-redis-lock';
import { HANDED_WRITE_LOCK } from '../contract/handed.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { eventually, Stopwatch, useLocks, useRealRedis, watch } from '../support/set-up.js';
import { describeExclusive } from './exclusive.suite.js';
import { Redisson, useRedisson } from './redisson.js';
import { BY_MESSAGE_MS, listening, LONG_MS, MS, NO_POLL, WATCHDOG_MS } from './sides.js';

const READ = ['readLock', 'a'] as const;
const WRITE = ['writeLock', 'a'] as const;

describe('ReadWriteLockService and RReadWriteLock', () => {
  const redis = useRealRedis();
  const java = useRedisson(redis);
  // It ends by itself in 5 s; a spec need not wait for that.
  afterEach(() => redis.admin.del('nestjs_rwlock_patience:{a}'));
  const open = useLocks(redis, (context) => new ReadWriteLockService(context));
  const ours = (settings?: Parameters<typeof open>[0]) => open(settings).locks.get('a');

  describe('the write lock', () => {
    describeExclusive({
      ...{ redis, java, open, theirs: 'writeLock', handed: HANDED_WRITE_LOCK },
      ours: (locks) => locks.get('a').write,
    });
  });

  describe('readers of both sides', () => {
    it('are in together, and keep the writers of both sides out', async () => {
      const { read, write } = ours();
      const lease = await read.acquire();
      expect(await java.current.call('A', READ, 'tryLock')).toBe(true);
      const another = await ours().read.tryAcquire();
      expect(await redis.admin.hlen('a')).toBe(4);
      expect(await write.tryAcquire()).toBeNull();
      expect(await java.current.call('B', WRITE, 'tryLock')).toBe(false);
      await lease.release();
      await another?.release();
      expect(await write.tryAcquire()).toBeNull();
      await java.current.call('A', READ, 'unlock');
      expect(await redis.admin.exists('a')).toBe(0);
    });

    it('let a writer of Node in when the last of them leaves, by its message', async () => {
      const { write } = ours(NO_POLL);
      await java.current.call('A', READ, 'lock');
      const waiting = watch(write.acquire());
      await listening(redis, 1);
      const sinceUnlock = new Stopwatch();
      await java.current.call('A', READ, 'unlock');
      const lease = await waiting.promise;
      expect(sinceUnlock.ms).toBeLessThan(BY_MESSAGE_MS);
      await lease.release();
    });

    it('let a writer of Java in when the last of them leaves, by its message', async () => {
      const { read } = ours();
      const leases = [await read.acquire(), await read.acquire()];
      const waiting = java.current.call('A', WRITE, 'tryLock', LONG_MS, MS);
      await java.current.parked('A');
      await leases[0]?.release();
      expect(await java.current.call('B', WRITE, 'tryLock')).toBe(false);
      const sinceRelease = new Stopwatch();
      await leases[1]?.release();
      expect(await waiting).toBe(true);
      expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
      await java.current.call('A', WRITE, 'unlock');
    });

    it('do not shorten the lease of each other', async () => {
      const { read } = ours({ watchdogLeaseMs: 600 });
      await java.current.call('A', READ, 'tryLock', 0, 60_000, MS);
      const watched = await read.acquire();
      const sinceGrant = new Stopwatch();
      await eventually(() => sinceGrant.realMs > 600);
      watched.assertHeld();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(50_000);
      await watched.release();
      expect(await redis.admin.pttl('a')).toBeGreaterThan(50_000);
      await java.current.call('A', READ, 'unlock');
      expect(await redis.admin.exists('a')).toBe(0);
    });

    it('of Node stay in when a reader of Java with a longer lease leaves', async () => {
      const lease = await ours().read.acquire();
      await java.current.call('A', READ, 'tryLock', 0, 60_000, MS);
      await java.current.call('A', READ, 'unlock');
      await lease.renew();
      expect(await ours().write.tryAcquire()).toBeNull();
      await lease.release();
    });

    it('enter again on the Java side without a word on ours', async () => {
      const { write } = ours();
      await java.current.call('A', READ, 'lock');
      await java.current.call('A', READ, 'lock');
      await java.current.call('A', READ, 'unlock');
      expect(await write.tryAcquire()).toBeNull();
      await java.current.call('A', READ, 'unlock');
      expect(await write.tryAcquire()).not.toBeNull();
    });
  });

  describe('a writer', () => {
    it('of Java lets all waiting readers of Node in at its release, by its message', async () => {
      const [one, two] = [ours(NO_POLL), ours(NO_POLL)];
      await java.current.call('A', WRITE, 'lock');
      expect(await one.read.tryAcquire()).toBeNull();
      const waiting = [one.read.acquire(), one.read.acquire(), two.read.acquire()];
      await listening(redis, 2);
      const sinceUnlock = new Stopwatch();
      await java.current.call('A', WRITE, 'unlock');
      const leases = await Promise.all(waiting);
      expect(sinceUnlock.ms).toBeLessThan(BY_MESSAGE_MS);
      await Promise.all(leases.map((lease) => lease.release()));
    });

    it('of Node lets all waiting readers of Java in at its release, by its message', async () => {
      const lease = await ours().write.acquire();
      expect(await java.current.call('A', READ, 'tryLock')).toBe(false);
      const threads = ['A', 'B', 'C'];
      const waiting = threads.map((thread) =>
        java.current.call(thread, READ, 'tryLock', LONG_MS, MS),
      );
      for (const thread of threads) await java.current.parked(thread);
      const sinceRelease = new Stopwatch();
      await lease.release();
      expect(await Promise.all(waiting)).toEqual([true, true, true]);
      expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
      for (const thread of threads) await java.current.call(thread, READ, 'unlock');
    });

    it('of Node wakes a writer of Java that was refused, and does not sleep yet', async () => {
      const { locks } = open();
      const lease = await locks.get('a').write.acquire({ leaseTimeMs: 59_900 });
      const other = await locks.get('b').write.acquire();
      const proxy = await FaultProxy.start(redis);
      const far = await Redisson.start(proxy.url);
      try {
        const b = ['writeLock', 'b'] as const;
        const behind = far.call('B', b, 'tryLock', LONG_MS, MS);
        await far.parked('B');
        const confirmation = proxy.hold('toClient', { containing: 'subscribe' });
        const waiting = far.call('A', WRITE, 'tryLock', LONG_MS, MS);
        await listening(redis, 2);
        // The answer to its second attempt: what is left of the lease.
        const refusal = proxy.hold('toClient', { containing: ':5' });
        confirmation.heal();
        await eventually(() => refusal.hits === 1);
        await lease.release();
        // A listener of this one has heard of the other before.
        await other.release();
        await eventually(async () => !(await far.call('B', ['isParked', ''], '')));
        refusal.heal();
        expect(await Promise.all([waiting, behind])).toEqual([true, true]);
        await far.call('A', WRITE, 'unlock');
        await far.call('B', b, 'unlock');
      } finally {
        await far.kill();
        await proxy.close();
      }
    });

    it('of Java reads, steps down, and lets the readers of Node in by their poll', async () => {
      const { read, write } = ours();
      await java.current.call('A', WRITE, 'lock');
      await java.current.call('A', READ, 'lock');
      const waiting = read.acquire({ waitTimeMs: LONG_MS });
      await listening(redis, 1);
      const sinceUnlock = new Stopwatch();
      await java.current.call('A', WRITE, 'unlock');
      const lease = await waiting;
      // Redisson says nothing here: one poll of 1 s.
      expect(sinceUnlock.ms).toBeLessThan(1_000 + BY_MESSAGE_MS);
      expect(await write.tryAcquire()).toBeNull();
      await java.current.call('A', READ, 'unlock');
      expect(await write.tryAcquire()).toBeNull();
      await lease.release();
      expect(await redis.admin.exists('a')).toBe(0);
    });

    it('of Node reads, steps down, and lets the readers of Java in by its message', async () => {
      const { read, write } = ours();
      const [waiting, lease, sinceRelease] = await write.using(async () => {
        const reading = await read.acquire();
        expect(await java.current.call('A', READ, 'tryLock')).toBe(false);
        const waits = watch(java.current.call('A', READ, 'tryLock', LONG_MS, MS));
        await java.current.parked('A');
        return [waits, reading, new Stopwatch()] as const;
      });
      expect(await waiting.promise).toBe(true);
      expect(sinceRelease.ms).toBeLessThan(BY_MESSAGE_MS);
      expect(await java.current.call('B', WRITE, 'tryLock')).toBe(false);
      lease.assertHeld();
      await lease.release();
      await java.current.call('A', READ, 'unlock');
      expect(await redis.admin.exists('a')).toBe(0);
    });
  });

  describe('a reader that dies', () => {
    it('as one of Java keeps a writer of Node out for no longer than its lease', async () => {
      const { read, write } = ours();
      const mortal = await java.start(WATCHDOG_MS);
      await mortal.call('A', READ, 'lock');
      const lease = await read.acquire();
      await mortal.kill();
      const sinceCrash = new Stopwatch();
      const waiting = write.acquire({ waitTimeMs: LONG_MS });
      await eventually(async () => (await redis.admin.keys('*:rwlock_timeout:1')).length === 1);
      await lease.release();
      await (await waiting).release();
      expect(sinceCrash.ms).toBeLessThan(WATCHDOG_MS + BY_MESSAGE_MS);
    });

    it('as one of Node keeps a writer of Java out for no longer than its lease', async () => {
      const connection = new Redis(redis.url);
      const { read } = ours({ connection, watchdogLeaseMs: WATCHDOG_MS });
      await read.acquire();
      const waiting = java.current.call('A', WRITE, 'tryLock', LONG_MS, MS);
      await java.current.parked('A');
      connection.disconnect();
      const sinceCrash = new Stopwatch();
      expect(await waiting).toBe(true);
      expect(sinceCrash.ms).toBeLessThan(WATCHDOG_MS + BY_MESSAGE_MS);
      await java.current.call('A', WRITE, 'unlock');
    });
  });

  describe('force', () => {
    it('of Node takes the read lock from Java, and wakes its writer up', async () => {
      const { read } = ours();
      await java.current.call('A', READ, 'lock');
      const waiting = java.current.call('B', WRITE, 'tryLock', LONG_MS, MS);
      await java.current.parked('B');
      const sinceForce = new Stopwatch();
      expect(await read.forceRelease()).toBe(true);
      expect(await waiting).toBe(true);
      expect(sinceForce.ms).toBeLessThan(BY_MESSAGE_MS);
      await java.current.call('B', WRITE, 'unlock');
    });

    it('of Java takes the read lock from Node, and wakes its writer up', async () => {
      const [reader, writer] = [ours(), ours(NO_POLL)];
      const lost = await reader.read.acquire();
      const waiting = writer.write.acquire();
      await listening(redis, 1);
      const sinceForce = new Stopwatch();
      expect(await java.current.call('A', READ, 'forceUnlock')).toBe(true);
      const lease = await waiting;
      expect(sinceForce.ms).toBeLessThan(BY_MESSAGE_MS);
      await expect(lost.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      await lease.release();
    });
  });
});
