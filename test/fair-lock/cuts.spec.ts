import { describe, expect, it } from '@jest/globals';
import { FairLockService, LockTimeoutError } from 'nestjs-redis-lock';
import {
  ACQUIRE,
  RELEASE,
} from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { eventually, seededRandom, useProxiedClients, watch } from '../support/set-up.js';
import { JavaFairLock } from '../support/redisson-fair.js';
import { FairView } from './fair-view.js';

/** The connection breaks between a request and its answer, and ioredis sends the request again. */
describe('FairLockService when an answer is lost', () => {
  const { redis, proxy, open } = useProxiedClients(FairLockService);
  const view = new FairView(redis, 'a');

  /** A holder, and a client that only asks when it has to. */
  const opened = async () => {
    const [holder, client] = [
      open(),
      open({ connection: proxy.current.url, pollIntervalMs: 60_000 }),
    ];
    await (await client.locks.acquire('warm')).release();
    const lease = await holder.locks.acquire('a');
    // So that every script is known to the server.
    await expect(client.locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    await eventually(async () => (await view.queue()).length === 0);
    return { ...client, lease };
  };

  it('takes the lock from the queue once, and its time off once', async () => {
    const { locks, lease } = await opened();
    const waiter = await view.enqueue(locks, { waitTimeMs: 40_000 });
    await view.allWaitersListen();
    const java = new JavaFairLock(redis.admin, 'a');
    await java.tryLock(20_000);
    const fault = proxy.current.loseAnswerTo(ACQUIRE);
    // Another client frees the lock and only announces that.
    await redis.admin.del('a');
    await redis.admin.publish(`redisson_lock__channel:{a}:${waiter.owner}`, '0');
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const granted = await waiter.promise;
    expect(fault.hits).toBe(1);
    expect(await redis.admin.hgetall('a')).toEqual({ [waiter.owner]: '1' });
    const [horizon = NaN] = await view.horizons();
    expect(horizon).toBeGreaterThan(45_000);
    expect(horizon).toBeLessThanOrEqual(50_000);
    await granted.release();
    expect(await java.tryLock()).toBeNull();
  });

  it('releases once, and tells the next one', async () => {
    const { locks, lease, eventsOf } = await opened();
    await lease.release();
    const ours = await locks.acquire('a');
    const other = open({ pollIntervalMs: 60_000 });
    const waiter = await view.enqueue(other.locks);
    await view.allWaitersListen();
    const fault = proxy.current.loseAnswerTo(RELEASE);
    await ours.release();
    expect(fault.hits).toBe(1);
    expect(eventsOf('released').at(-1)).toMatchObject({ outcome: 'unknown' });
    await (await waiter.promise).release();
  });

  it('keeps the order of its callers through an outage in which everything is lost', async () => {
    const { locks, lease } = await opened();
    const granted: number[] = [];
    const callers = Array.from({ length: 5 }, (_, i) =>
      locks.using('a', () => granted.push(i), { waitTimeMs: 60_000 }),
    );
    await eventually(async () => (await view.queue()).length === 5);
    proxy.current.refuse();
    proxy.current.cut();
    await redis.admin.flushall();
    const java = new JavaFairLock(redis.admin, 'a');
    await java.tryLock();
    await proxy.current.accept();
    await eventually(async () => (await view.queue()).length === 5);
    await java.unlock();
    await Promise.all(callers);
    expect(granted).toEqual([0, 1, 2, 3, 4]);
    await expect(lease.release()).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('leaves no waiter in the queue and nothing held, wherever a stream of calls is cut', async () => {
    const random = seededRandom('fair-cuts');
    const settings = { pollIntervalMs: 100 };
    const [{ locks }, other] = [
      open({ connection: proxy.current.url, ...settings }),
      open(settings),
    ];
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await redis.admin.ping();
      inside -= 1;
    };
    for (let round = 0; round < 30; round += 1) {
      const victim = proxy.current.counts.accepted - random.int(0, 1);
      const fault = proxy.current.cutAfter(
        random.pick(['toServer', 'toClient'] as const),
        random.int(1, 1_500),
        { kind: random.pick(['rst', 'fin'] as const), where: ({ index }) => index === victim },
      );
      const callers = [locks, other.locks, locks, other.locks, locks].map((service, i) =>
        watch(service.using('a', work, { waitTimeMs: i === 2 ? 5 : 20_000 })),
      );
      const outcomes = await Promise.allSettled(callers.map(({ promise }) => promise));
      for (const [i, outcome] of outcomes.entries())
        if (outcome.status === 'rejected') expect(i).toBe(2);
      fault.heal();
      await eventually(async () => (await redis.admin.keys('*a*')).length === 0);
    }
    expect(most).toBe(1);
    expect(proxy.current.counts.cut).toBeGreaterThan(3);
  }, 20_000);
});
