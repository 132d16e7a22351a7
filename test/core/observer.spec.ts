import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import {
  LockBackendError,
  LockService,
  LockTimeoutError,
  type LockEvent,
} from 'nestjs-redis-lock/core';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { tell } from '../../libs/redis-lock/src/core/api/observer.js';
import { eventually, redisson, useProxiedClients } from '../support/set-up.js';

describe('LockObserver', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);
  const types = (events: readonly LockEvent[]) => events.map(({ type }) => type);

  it('is notified of a lock that is taken, nested, and released', async () => {
    const { locks, events } = open();
    await locks.using('a', () => locks.using('a', () => undefined), { label: 'my lock' });
    const of = { name: 'a', kind: 'lock', label: 'my lock' };
    const ms = expect.any(Number) as unknown;
    expect(events).toEqual([
      { type: 'acquired', ...of, waitedMs: ms, holdCount: 1 },
      { type: 'acquired', ...of, label: undefined, waitedMs: ms, holdCount: 2 },
      { type: 'released', ...of, outcome: 'done', heldMs: ms },
    ]);
  });

  it('hears of the end of every hold once, also when Redis cannot be told', async () => {
    const ours = open({ connection: proxy.current.url, watchdogLeaseMs: 6_000 });
    const lease = await ours.locks.acquire('a');
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => ours.eventsOf('connection-failed').length === 1);
    await expect(lease.release()).rejects.toThrow(LockBackendError);
    await eventually(() => ours.eventsOf('released').length === 1);
    expect(ours.eventsOf('released')).toMatchObject([{ outcome: 'failed' }]);
    expect(ours.eventsOf('lost')).toEqual([]);
  });

  it('hears how long a caller has waited, and of a long wait once while it lasts', async () => {
    const [ours, others] = [open({ pollIntervalMs: 100 }), open()];
    const lease = await others.locks.acquire('a');
    const waiting = ours.locks.acquire('a', { waitTimeMs: 60_000 });
    await eventually(() => ours.eventsOf('waiting').length > 0);
    const { waitedMs } = ours.eventsOf('waiting')[0] ?? { waitedMs: NaN };
    expect(waitedMs).toBeGreaterThanOrEqual(1_000);
    expect(ours.eventsOf('waiting')[0]).not.toHaveProperty('error');
    await lease.release();
    await (await waiting).release();
    await redis.admin.ping();
    // The renewal that a hand-over owes is answered after the release: nothing holds it by then.
    expect(types(ours.events)).toEqual(['waiting', 'acquired', 'released']);
    expect(ours.eventsOf('acquired')[0]?.waitedMs).toBeGreaterThanOrEqual(waitedMs);
  });

  it('hears of each caller that waits, also when wake-up messages keep coming', async () => {
    const ours = open();
    await redisson.tryLock(redis.admin, 'a');
    const abort = new AbortController();
    const options = { waitTimeMs: 60_000, signal: abort.signal };
    const waiting = [1, 2, 3].map(() => ours.locks.acquire('a', options).catch(() => 'left'));
    await eventually(async () => {
      await redis.admin.publish('redisson_lock__channel:{a}', '0');
      return ours.eventsOf('waiting').length === 3;
    });
    abort.abort();
    expect(await Promise.all(waiting)).toEqual(['left', 'left', 'left']);
    await redisson.unlock(redis.admin, 'a');
  });

  it('may end the wait that it hears of, of which nothing is left', async () => {
    const abort = new AbortController();
    const observe = ({ type }: LockEvent) => {
      if (type === 'waiting') abort.abort(new Error('too slow'));
    };
    const [ours, others] = [open({ observer: { observe } }), open()];
    const lease = await others.locks.acquire('a');
    const options = { waitTimeMs: 60_000, signal: abort.signal };
    await expect(ours.locks.acquire('a', options)).rejects.toThrow('too slow');
    expect(ours.context.times.items()).toEqual([]);
    await lease.release();
  });

  it('hears that it is Redis for which a caller waits, and of each outage once', async () => {
    const client = open({ connection: proxy.current.url, pollIntervalMs: 100 });
    for (const outages of [1, 2]) {
      await client.locks.using('a', () => undefined, { waitTimeMs: 60_000 });
      proxy.current.refuse();
      proxy.current.cut();
      const waiting = client.locks.acquire('a', { waitTimeMs: 60_000 });
      await eventually(() => client.eventsOf('waiting').length === outages);
      expect(client.eventsOf('waiting').pop()?.error).toBeInstanceOf(LockBackendError);
      await proxy.current.accept();
      await (await waiting).release();
      expect(client.eventsOf('connection-failed')).toHaveLength(outages);
      expect(client.eventsOf('connection-restored')).toHaveLength(outages);
    }
    // A connection that is back in a moment is no outage.
    proxy.current.cut();
    await client.locks.using('a', () => undefined, { waitTimeMs: 60_000 });
    expect(client.eventsOf('connection-failed')).toHaveLength(2);
    expect(client.eventsOf('connection-restored')).toHaveLength(2);
  });

  it('hears that our client has given up to connect', async () => {
    const { hostname: host, port } = new URL(proxy.current.url);
    const connection = { host, port: Number(port), retryStrategy: () => null };
    const client = open({ connection });
    await eventually(() => client.locks.using('a', () => undefined));
    proxy.current.cut();
    await eventually(() => client.eventsOf('connection-failed').length > 0);
    await expect(client.locks.acquire('a')).rejects.toMatchObject({ retryable: false });
    expect(client.eventsOf('connection-failed')).toHaveLength(1);
  });

  it('hears of a caller that gave up waiting, and of no try that was refused', async () => {
    const [ours, others] = [open(), open()];
    await others.locks.acquire('a');
    await ours.locks.tryAcquire('a');
    await expect(ours.locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    expect(ours.events).toMatchObject([
      { type: 'timed-out', name: 'a', waitedMs: expect.any(Number) as unknown },
    ]);
  });

  it('hears of renewals, of doubt, and of the loss, in this order', async () => {
    const { locks, events } = open({ watchdogLeaseMs: 3_000 });
    const lease = await locks.acquire('a');
    await eventually(() => types(events).includes('renewed'));
    redis.pause();
    await eventually(() => lease.state === 'lost');
    redis.resume();
    const order = types(events).filter((type, i, all) => type !== all[i - 1]);
    expect(order).toEqual(['acquired', 'renewed', 'suspect', 'lost']);
    expect(events.find(({ type }) => type === 'lost')).toMatchObject({ reason: 'expired' });
  });

  it('speaks of a lock by the name that the caller wrote, and never of its owner', async () => {
    const client = open({ keyPrefix: 'shop:', watchdogLeaseMs: 6_000 });
    const lease = await client.locks.acquire('a', { fenced: true });
    await expect(client.locks.acquire('a', { waitTimeMs: 400 })).rejects.toThrow(LockTimeoutError);
    await redis.admin.del('shop:a');
    await eventually(() => lease.state === 'lost');
    const text = inspect(client.events, { depth: 10, showHidden: true });
    expect(text).toContain("name: 'a'");
    expect(text).not.toContain(lease.owner.split(':')[0]);
    expect(text).not.toContain('shop:');
  });

  it('has heard of the end of every hold when a shutdown is over, and hears of none again', async () => {
    const times = 20;
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, callback) => systemClock.after(delayMs / times, callback),
    };
    const connection = new Redis(redis.url);
    const { locks, events, close } = open({ clock, connection });
    const lease = await locks.acquire('a');
    await redis.admin.del('a');
    redis.pause();
    const releasing = expect(lease.release()).rejects.toThrow(LockBackendError);
    await close();
    await releasing;
    const ends = () => events.filter(({ type }) => type === 'released' || type === 'lost');
    expect(ends()).toMatchObject([{ type: 'released', outcome: 'failed' }]);
    redis.resume();
    // The second answer comes behind that to the release, of which Redis may have to learn the script.
    await connection.ping();
    await connection.ping();
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends()).toHaveLength(1);
    connection.disconnect();
  });

  it.each<[string, () => unknown]>([
    ['an async method', async () => Promise.reject(new Error('broken observer'))],
    // As the promises of Node itself are, for what runs in a context of its own.
    [
      'a promise of another realm',
      () => runInNewContext("Promise.reject('broken observer')") as unknown,
    ],
  ])('leaves no rejection unhandled of %s', async (_, observe) => {
    // Jest fails a test with whatever is unhandled by then.
    expect(() => {
      tell({ observe }, { type: 'renewed', leases: 1 });
    }).not.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('cannot break a lock by throwing', async () => {
    const observer = {
      observe: () => {
        throw new Error('broken observer');
      },
    };
    const client = open({ observer, watchdogLeaseMs: 3_000 });
    const { locks } = client;
    await locks.using('a', async (lease) => {
      await locks.using('a', () => undefined);
      await eventually(() => client.eventsOf('renewed').length >= 2);
      lease.assertHeld();
    });
    const lease = await locks.acquire('a');
    await locks.get('a').forceRelease();
    await eventually(() => lease.state === 'lost');
  });
});
