import { describe, expect, it, jest } from '@jest/globals';
import {
  LockBackendError,
  LockService,
  LockTimeoutError,
  type Lease,
} from 'nestjs-redis-lock/core';
import { eventually, Gate, useProxiedClients } from '../support/set-up.js';

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

describe('LockService when several things happen to one owner at once', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);

  it('releases leases in any order, in one turn, beside a renewal, without a false loss', async () => {
    const { locks, eventsOf } = open();
    for (const order of ORDERS) {
      await locks.using('k', async (first) => {
        const second = await locks.acquire('k');
        const steps = [() => first.release(), () => second.release(), () => first.renew()];
        const done = await Promise.allSettled(order.map(async (i) => steps[i]?.()));
        expect(done.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(1);
        expect([first.state, second.state]).toEqual(['released', 'released']);
      });
    }
    expect(eventsOf('lost')).toEqual([]);
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it('renews a parent, though there is always a nested call on its way', async () => {
    const { locks, eventsOf } = open({ watchdogLeaseMs: 3_000 });
    await locks.using('k', async (lease) => {
      while (eventsOf('renewed').length < 3) {
        await locks.using('k', () => undefined, { leaseTimeMs: 20 });
        expect(lease.remainingMs).toBeGreaterThan(500);
      }
    });
    expect(eventsOf('lost')).toEqual([]);
  });

  it('renews nothing for a caller whose lease is being released by then', async () => {
    const { locks, context, eventsOf } = open({ connection: proxy.current.url });
    const [entered, end] = [new Gate(), new Gate()];
    let nested: Lease | undefined;
    const outer = locks.using(
      'k',
      async () => {
        nested = await locks.acquire('k');
        entered.open();
        await end.opened;
      },
      { minHoldMs: 1_000 },
    );
    await entered.opened;
    const late = proxy.current.hold('toClient');
    const renewed = nested?.renew();
    end.open();
    await eventually(() => context.holds.all[0]?.leases.length === 1);
    const renewing = nested?.renew(90_000);
    const released = nested?.release();
    late.heal();
    await expect(renewing).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await Promise.all([outer, renewed, released]);
    expect(await redis.admin.pttl('k')).toBeLessThanOrEqual(1_000);
    expect(eventsOf('lost')).toEqual([]);
  });

  const refused = new LockBackendError('slot on its way', { retryable: true, outcome: 'none' });

  it('forgets why a step failed once Redis has executed it', async () => {
    const { locks, context } = open();
    await locks.using('k', async () => {
      const run = jest.spyOn(context.connection, 'run').mockRejectedValueOnce(refused);
      await locks.using('k', () => undefined);
      run.mockRestore();
      expect(context.holds.all).toMatchObject([{ refusal: undefined }]);
    });
  });

  it('says why a nested call failed, though a renewal beside it succeeds', async () => {
    const { locks, context } = open();
    await locks.using('k', async (lease) => {
      const { connection } = context;
      const send = connection.run.bind(connection);
      const run = jest.spyOn(connection, 'run').mockImplementation((...call) => {
        return call[0].name.includes('renew') ? send(...call) : Promise.reject(refused);
      });
      const nested = locks.acquire('k', { waitTimeMs: 100 });
      await eventually(() => run.mock.calls.length > 0);
      await lease.renew();
      await expect(nested).rejects.toMatchObject({ cause: refused });
      run.mockRestore();
    });
  });

  it('never resolves renew() for a lease that was lost meanwhile', async () => {
    const { locks } = open({ connection: proxy.current.url });
    const lease = await locks.acquire('k', { leaseTimeMs: 300 });
    const late = proxy.current.hold('toClient');
    const renewing = lease.renew(5_000);
    const aborted = new Promise((resolve) => {
      lease.signal.addEventListener('abort', resolve);
    });
    await aborted;
    late.heal();
    await expect(renewing).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('blames Redis and not another holder once it has been silent for longer than a poll', async () => {
    await redis.admin.hset('k', 'java:1', 1);
    await redis.admin.pexpire('k', 60_000);
    const { locks } = open({ connection: proxy.current.url, pollIntervalMs: 100 });
    const waiting = locks.acquire('k', { waitTimeMs: 1_500 });
    const silent = proxy.current.blackhole('toClient');
    await expect(waiting).rejects.toThrow(LockBackendError);
    silent.heal();
    await redis.admin.del('k');
  });

  it('blames the holder, and not Redis, when a poll is shorter than a round trip', async () => {
    const { locks } = open({ connection: proxy.current.url, pollIntervalMs: 20 });
    // Redis learns the script, also in its form for many calls.
    await Promise.all(['k', 'l'].map((name) => locks.using(name, () => undefined)));
    const names = Array.from({ length: 12 }, (_, i) => `k${i}`);
    for (const name of names) await redis.admin.hset(name, 'java:1', 1);
    const slow = proxy.current.delay('toClient', 60);
    const calls = names.map((name, i) => locks.acquire(name, { waitTimeMs: 900 + 10 * i }));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ reason: expect.any(LockTimeoutError) as unknown });
    }
    slow.heal();
    await redis.admin.del(...names);
  });

  it('blames the answer that does not come, and no outage that is over', async () => {
    const { locks, eventsOf } = open({ connection: proxy.current.url });
    await locks.using('k', () => undefined);
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => eventsOf('connection-failed').length > 0);
    const waiting = locks.acquire('k', { waitTimeMs: 4_000 });
    const silent = proxy.current.hold('toServer', { containing: 'evalsha' });
    await proxy.current.accept();
    await expect(waiting).rejects.toThrow('ms: no answer');
    expect(silent.hits).toBeGreaterThan(0);
    silent.heal();
    proxy.current.cut();
  });

  it('takes a signal that has no more than the shape of one', async () => {
    const { locks } = open();
    const signal = {
      aborted: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    } as unknown as AbortSignal;
    const lease = await locks.acquire('k', { signal });
    await lease.release();
  });
});
