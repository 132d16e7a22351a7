import { describe, expect, it } from '@jest/globals';
import { FairLockService } from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock-service.js';
import {
  eventually,
  PROMPT_MS,
  Section,
  seededRandom,
  Stopwatch,
  watch,
  useClients,
} from '../support/set-up.js';
import { FairView } from './fair-view.js';

describe('the order of a fair lock', () => {
  const { redis, open } = useClients(FairLockService);
  const view = new FairView(redis, 'a');

  it.each(['message', 'poll'] as const)(
    'is that of the calls, of several clients with several callers each, woken by %s',
    async (wakeUp) => {
      const clients = [1, 2, 3].map(() => open({ wakeUp }));
      const random = seededRandom(`order/${wakeUp}`);
      const first = await clients[0]?.locks.acquire('a');
      const granted: number[] = [];
      const section = new Section();
      const CALLS = 30;
      const callers = [];
      for (let i = 0; i < CALLS; i += 1) {
        const { locks } = random.pick(clients);
        const work = () => section.run(() => granted.push(i));
        callers.push(locks.using('a', work, { waitTimeMs: 60_000 }));
        // Another client's call is later only when Redis has got this one before.
        await eventually(async () => (await view.queue()).length === i + 1, { everyMs: 1 });
      }
      await first?.release();
      await Promise.all(callers);
      expect(granted).toEqual([...Array(CALLS).keys()]);
      expect(section.most).toBe(1);
    },
  );

  it('is that of the calls of one process made in one go, all of them known to Redis', async () => {
    const { locks } = open();
    // Redis knows the script for one call, and not the one for several calls.
    await redis.admin.script('FLUSH');
    const first = await locks.acquire('a');
    const granted: number[] = [];
    const callers = Array.from({ length: 97 }, (_, i) =>
      locks.using('a', () => granted.push(i), { waitTimeMs: 60_000 }),
    );
    await eventually(async () => (await view.queue()).length === 97);
    const numbers = (await view.queue()).map((owner) => Number(owner.split(':')[1]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    await first.release();
    await Promise.all(callers);
    expect(granted).toEqual([...Array(97).keys()]);
  });

  it.each([0, 60_000])(
    'lets no caller overtake that comes while the lock is free, and hands it to the first: %d ms',
    async (waitTimeMs) => {
      const [slow, quick] = [open({ pollIntervalMs: 60_000 }), open()];
      const lease = await quick.locks.acquire('a');
      const first = await view.enqueue(slow.locks);
      await view.allWaitersListen();
      // As after a crash of the holder: the lock is free, and its next holder does not know.
      await redis.admin.del('a');
      const coming = watch(quick.locks.acquire('a', { waitTimeMs }));
      const next = await first.promise;
      next.assertHeld();
      if (waitTimeMs > 0) {
        expect(coming.state).toBe('pending');
        await next.release();
        await (await coming.promise).release();
      } else {
        await expect(coming.promise).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
        await next.release();
      }
      await lease.release().catch(() => undefined);
    },
  );

  it('lets no caller overtake a waiter that no message can reach yet', async () => {
    const [slow, quick] = [open({ pollIntervalMs: 60_000 }), open()];
    const lease = await quick.locks.acquire('a');
    const waiter = await view.enqueue(slow.locks);
    await view.allWaitersListen();
    // As a waiter that has just entered, or that polls.
    const [waitMs, since] = ((await view.records())[waiter.owner] ?? '').split(' ');
    await redis.admin.hset(view.keys.waiting, waiter.owner, `${waitMs ?? ''} ${since ?? ''}`);
    await redis.admin.del('a');
    expect(await quick.locks.tryAcquire('a')).toBeNull();
    await expect(quick.locks.acquire('a', { waitTimeMs: 400 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    expect(waiter.state).toBe('pending');
    await redis.admin.publish(`redisson_lock__channel:{a}:${waiter.owner}`, '0');
    await (await waiter.promise).release();
    await lease.release().catch(() => undefined);
  });

  it('takes no notice of messages that come unasked', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a');
    const waiters = [await view.enqueue(locks), await view.enqueue(locks)];
    await view.allWaitersListen();
    for (const { owner } of [...waiters, ...waiters]) {
      for (const payload of ['0', '1', 'garbage', 'x'.repeat(10_000)]) {
        await redis.admin.publish(`redisson_lock__channel:{a}:${owner}`, payload);
      }
    }
    lease.assertHeld();
    expect(waiters.map(({ state }) => state)).toEqual(['pending', 'pending']);
    await lease.release();
    for (const { promise } of waiters) await (await promise).release();
  });

  it('joins a hold of its own before those who wait, and hands over only when all are released', async () => {
    const [{ locks }, others] = [open(), open()];
    const order: string[] = [];
    const next = await locks.using('a', async () => {
      const waiter = await view.enqueue(others.locks);
      void waiter.promise.then(() => order.push('next'));
      await locks.using('a', () => order.push('nested'));
      await locks.using('a', () => order.push('nested'));
      return waiter;
    });
    await (await next.promise).release();
    expect(order).toEqual(['nested', 'nested', 'next']);
  });

  it('has tokens that rise in the order of the grants', async () => {
    const clients = [open(), open()];
    const first = await clients[0]?.locks.acquire('a', { fenced: true });
    const tokens = [first?.fencingToken ?? 0];
    const waiters = [];
    for (let i = 0; i < 6; i += 1) {
      const { locks } = clients[i % 2] ?? open();
      waiters.push(await view.enqueue(locks, { fenced: true }));
    }
    await first?.release();
    for (const { promise } of waiters) {
      const lease = await promise;
      tokens.push(lease.fencingToken ?? 0);
      await lease.release();
    }
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
  });

  it('testLeaseTimeout: waiters whose leases are never released follow in their order', async () => {
    const { locks } = open();
    const LEASE = 400;
    const order: number[] = [];
    const stopwatch = new Stopwatch();
    await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        await locks.acquire('a', { leaseTimeMs: LEASE });
        order.push(i);
      }),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(stopwatch.ms).toBeLessThan(8 * (LEASE + PROMPT_MS));
  });
});
