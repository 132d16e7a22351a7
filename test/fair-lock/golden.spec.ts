import { describe, expect, it } from '@jest/globals';
import { FairLockService, type Lease } from 'nestjs-redis-lock/core';
import { eventually, PROMPT_MS, Stopwatch, useLocks, useRealRedis } from '../support/set-up.js';
import { useGolden } from '../support/wire/golden.js';
import { FairView } from './fair-view.js';

const LEASE_LOST = { code: 'LEASE_LOST' };
const UNLOCK_OF_A = 'A: fairLock.unlock()';
const LAPSE_OF_B = 'time ends <B> of redisson_lock_timeout:{a}';
/** As a wait without an end in Java. */
const ENDLESS = { waitTimeMs: Infinity };

const redis = useRealRedis();
const view = new FairView(redis, 'a');
const golden = useGolden(redis, 'fair-lock', {
  ours: /^nestjs_fair_waiting:/,
  mortal: /^redisson_lock_(queue|timeout):/,
});
const open = useLocks(redis, (context) => new FairLockService(context));
/** The waiters of this client learn of a release only by its message. */
const openDeaf = () => open({ pollIntervalMs: 60_000 });

/** Our waiter in another process gets the message that it has the lock, and not that it may try. */
const given = (name: string) => ({
  messages: [
    [
      `redisson_lock__channel:{a}:<${name}>`,
      expect.stringMatching(/^\d+ [0-9a-f]{32} \d+$/) as never,
    ] as const,
  ],
});
/** Our waiter in the same process gets the lock by the answer to the release. */
const PASSED_ON = { messages: [] };
/** The waiter has made a lease of its own out of the grant that was handed to it. */
const whole = async (promise: Promise<Lease>) => {
  const lease = await promise;
  await eventually(() => lease.remainingMs > 20_000);
  return lease;
};

describe('what FairLockService leaves in Redis is what RFairLock leaves there', () => {
  it('when it is taken, entered again and released', async () => {
    const { locks } = open();
    const trace = await golden.scenario('taken, entered again, released');
    await locks.using('a', async (lease) => {
      await trace.plays('A: fairLock.lock()', lease);
      await locks.using('a', async () => {
        await trace.sees('A: fairLock.lock()');
        expect(await trace.plays('B: fairLock.tryLock()', open().locks.tryAcquire('a'))).toBeNull();
      });
      await trace.sees(UNLOCK_OF_A);
    });
    await trace.sees(UNLOCK_OF_A);
  });

  it('when two wait, and get in by their turn', async () => {
    const [ours, others] = [openDeaf().locks, openDeaf().locks];
    const trace = await golden.scenario('two wait, and get in by their turn');
    const a = await trace.plays('A: fairLock.lock()', ours.acquire('a'));
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(others, ENDLESS));
    const c = await trace.plays(
      'C: fairLock.tryLock(60000) waits',
      view.enqueue(ours, { waitTimeMs: 60_000 }),
    );
    expect(await trace.plays('D: fairLock.tryLock()', others.tryAcquire('a'))).toBeNull();
    await view.allWaitersListen();
    await a.release();
    trace.passes(UNLOCK_OF_A, given('B'));
    const heldByB = await trace.plays('B: fairLock.lock() goes on', whole(b.promise));
    await heldByB.release();
    trace.passes('B: fairLock.unlock()', given('C'));
    const heldByC = await trace.plays('C: fairLock.tryLock(60000) goes on', whole(c.promise));
    await trace.plays('C: fairLock.unlock()', heldByC.release());
  });

  it('when the first in the queue gives up', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('the first in the queue gives up');
    const a = await trace.plays('A: fairLock.lock()', locks.acquire('a'));
    const leaving = new AbortController();
    const c = await trace.plays(
      'C: fairLock.tryLock(3000) waits',
      view.enqueue(locks, { waitTimeMs: 3_000, signal: leaving.signal }),
    );
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(locks, ENDLESS));
    leaving.abort(new Error('left'));
    await expect(c.promise).rejects.toThrow('left');
    await eventually(async () => (await view.queue()).length === 1);
    await trace.sees('C: fairLock.tryLock(3000) goes on');
    await view.allWaitersListen();
    await a.release();
    trace.passes(UNLOCK_OF_A, PASSED_ON);
    const heldByB = await trace.plays('B: fairLock.lock() goes on', b.promise);
    await trace.plays('B: fairLock.unlock()', heldByB.release());
  });

  it('when the score of the first has passed, but ours keeps its place while it lives', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('the first in the queue is dead');
    const a = await trace.plays(
      'A: fairLock.tryLock(0, 5000)',
      locks.acquire('a', { leaseTimeMs: 5_000 }),
    );
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(locks, ENDLESS));
    await view.allWaitersListen();
    await redis.admin.zadd(view.keys.timeouts, 'XX', Date.now() - 1_000, b.owner);
    trace.passes(LAPSE_OF_B);
    await a.release();
    const heldByB = await b.promise;
    const keys = { a: { hash: { '<B>': '1' }, ttl: 30_000 } };
    await trace.sees(UNLOCK_OF_A, { keys, ...PASSED_ON });
    expect(await open().locks.tryAcquire('a')).toBeNull();
    await trace.sees('C: fairLock.tryLock()', { keys });
    await trace.sees('C: fairLock.unlock()', { keys });
    await trace.sees('B: fairLock.lock() goes on');
    await trace.plays('B: fairLock.unlock()', heldByB.release());
  });

  it('when its lease ends it, but ours says nothing when it is released late', async () => {
    const trace = await golden.scenario('ended by its lease, and released late');
    const a = await trace.plays(
      'A: fairLock.tryLock(0, 20000)',
      openDeaf().locks.acquire('a', { leaseTimeMs: 20_000 }),
    );
    const b = await trace.plays(
      'B: fairLock.lock() waits',
      view.enqueue(open({ pollIntervalMs: 100 }).locks, ENDLESS),
    );
    await redis.admin.del('a');
    trace.passes('time ends a');
    await expect(a.release()).rejects.toMatchObject(LEASE_LOST);
    trace.passes(UNLOCK_OF_A, { messages: [] });
    const heldByB = await trace.plays('B: fairLock.lock() goes on', b.promise);
    await trace.plays('B: fairLock.unlock()', heldByB.release());
  });

  it('when it is ended by force', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('ended by force');
    const a = await trace.plays('A: fairLock.lock()', locks.acquire('a'));
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(locks, ENDLESS));
    await view.allWaitersListen();
    const stopwatch = new Stopwatch();
    expect(await open().locks.get('a').forceRelease()).toBe(true);
    trace.passes('C: fairLock.forceUnlock()', given('B'));
    const heldByB = await trace.plays('B: fairLock.lock() goes on', whole(b.promise));
    expect(stopwatch.ms).toBeLessThan(PROMPT_MS);
    await expect(a.release()).rejects.toMatchObject(LEASE_LOST);
    await trace.plays('B: fairLock.unlock()', heldByB.release());
  });
});

describe('what RFairLock leaves in Redis is understood by FairLockService', () => {
  it('when it is taken, entered again and released', async () => {
    const { locks } = open();
    const trace = await golden.scenario('taken, entered again, released');
    for (const step of ['A: fairLock.lock()', 'A: fairLock.lock()', UNLOCK_OF_A]) {
      await trace.put(step);
      expect(await locks.tryAcquire('a')).toBeNull();
      expect(await locks.get('a').isLocked()).toBe(true);
    }
    await trace.put(UNLOCK_OF_A);
    expect((await locks.tryAcquire('a'))?.holdCount).toBe(1);
  });

  it('when two wait, of whom the second is ours', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('two wait, and get in by their turn');
    await trace.put('A: fairLock.lock()');
    await trace.put('B: fairLock.lock() waits');
    const c = await trace.plays(
      'C: fairLock.tryLock(60000) waits',
      view.enqueue(locks, { waitTimeMs: 60_000 }),
    );
    await view.allWaitersListen();
    await trace.put(UNLOCK_OF_A);
    expect(await trace.plays('D: fairLock.tryLock()', locks.tryAcquire('a'))).toBeNull();
    await trace.put('B: fairLock.lock() goes on');
    expect(c.state).toBe('pending');
    const sinceUnlock = new Stopwatch();
    await trace.put('B: fairLock.unlock()');
    const heldByC = await c.promise;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    await trace.sees('C: fairLock.tryLock(60000) goes on');
    await trace.plays('C: fairLock.unlock()', heldByC.release());
  });

  it('when two wait, of whom the first is ours', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('two wait, and get in by their turn');
    const a = await trace.plays('A: fairLock.lock()', locks.acquire('a'));
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(locks, ENDLESS));
    await view.allWaitersListen();
    await trace.put('C: fairLock.tryLock(60000) waits');
    await a.release();
    trace.passes(UNLOCK_OF_A, PASSED_ON);
    const heldByB = await trace.plays('B: fairLock.lock() goes on', b.promise);
    await trace.plays('B: fairLock.unlock()', heldByB.release());
    await trace.put('C: fairLock.tryLock(60000) goes on');
    await trace.put('C: fairLock.unlock()');
  });

  it('when the first in the queue gives up, and ours is behind it', async () => {
    const { locks } = openDeaf();
    const trace = await golden.scenario('the first in the queue gives up');
    await trace.put('A: fairLock.lock()');
    await trace.put('C: fairLock.tryLock(3000) waits');
    const b = await trace.plays('B: fairLock.lock() waits', view.enqueue(locks, ENDLESS));
    await view.allWaitersListen();
    await trace.put('C: fairLock.tryLock(3000) goes on');
    const sinceUnlock = new Stopwatch();
    await trace.put(UNLOCK_OF_A);
    const heldByB = await b.promise;
    expect(sinceUnlock.ms).toBeLessThan(PROMPT_MS);
    await trace.sees('B: fairLock.lock() goes on');
    await trace.plays('B: fairLock.unlock()', heldByB.release());
  });

  it('when the first in the queue is dead', async () => {
    const { locks } = open();
    const trace = await golden.scenario('the first in the queue is dead');
    const a = await trace.plays(
      'A: fairLock.tryLock(0, 5000)',
      locks.acquire('a', { leaseTimeMs: 5_000 }),
    );
    await trace.put('B: fairLock.lock() waits');
    await trace.put(LAPSE_OF_B);
    await trace.plays(UNLOCK_OF_A, a.release());
    const c = await trace.plays('C: fairLock.tryLock()', locks.acquire('a', { waitTimeMs: 0 }));
    await trace.plays('C: fairLock.unlock()', c.release());
    await trace.put('B: fairLock.lock() goes on');
    expect(await locks.tryAcquire('a')).toBeNull();
    await trace.put('B: fairLock.unlock()');
  });

  it('when the lease ends, and a Java thread is next', async () => {
    const { locks } = open();
    const trace = await golden.scenario('ended by its lease, and released late');
    const a = await trace.plays(
      'A: fairLock.tryLock(0, 20000)',
      locks.acquire('a', { leaseTimeMs: 20_000 }),
    );
    await trace.put('B: fairLock.lock() waits');
    await trace.put('time ends a');
    expect(await locks.tryAcquire('a')).toBeNull();
    await expect(a.release()).rejects.toMatchObject(LEASE_LOST);
    await trace.sees(UNLOCK_OF_A, { messages: [] });
    await trace.put('B: fairLock.lock() goes on');
    await trace.put('B: fairLock.unlock()');
    expect((await locks.tryAcquire('a'))?.holdCount).toBe(1);
  });

  it('when we end it by force, and a Java thread is next', async () => {
    const { locks } = open();
    const trace = await golden.scenario('ended by force');
    await trace.put('A: fairLock.lock()');
    await trace.put('B: fairLock.lock() waits');
    expect(await locks.get('a').forceRelease()).toBe(true);
    await trace.sees('C: fairLock.forceUnlock()');
    expect(await locks.get('a').forceRelease()).toBe(false);
    await trace.sees('C: fairLock.forceUnlock()');
    await trace.put('B: fairLock.lock() goes on');
    await trace.put('B: fairLock.unlock()');
  });
});
