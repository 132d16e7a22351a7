import { beforeEach, describe, expect, it } from '@jest/globals';
import { LockArgumentError, LockService, type LockEvent } from 'nestjs-redis-lock/core';
import { once } from 'node:events';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { grantChannel } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import { RELEASE_LATER } from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { deliver } from '../support/deliver.js';
import { eventually, roundTrips, watch } from '../support/set-up.js';
import { untilQueued, useProxiedClients } from '../support/lock-client.js';
import { channelOf } from '../support/redisson.js';

describe('a lock with a shortest time', () => {
  const { redis, proxy, open } = useProxiedClients(LockService);

  it('stays taken after its release, and ends by itself', async () => {
    const [ours, others] = [open(), open({ pollIntervalMs: 50 })];
    const lease = await ours.locks.acquire('a', { minHoldMs: 20_000 });
    await lease.release();
    expect(lease.state).toBe('released');
    const ttl = await redis.admin.pttl('a');
    expect(ttl).toBeGreaterThan(10_000);
    expect(ttl).toBeLessThanOrEqual(20_000);
    expect(ours.eventsOf('released')).toMatchObject([{ outcome: 'done' }]);
    expect(await ours.locks.tryAcquire('a')).toBeNull();
    const waiting = watch(others.locks.acquire('a'));
    await untilQueued(redis, 'a', [others]);
    expect(waiting.state).toBe('pending');
    await redis.admin.pexpire('a', 1);
    await (await waiting.promise).release();
  });

  it('stays taken after a crash, however short the lease of the watchdog is', async () => {
    const { locks, eventsOf, close } = open({ watchdogLeaseMs: 300 });
    await locks.acquire('a', { minHoldMs: 20_000 });
    // A renewal does not shorten it.
    await eventually(() => eventsOf('renewed').length >= 2);
    expect(await redis.admin.pttl('a')).toBeGreaterThan(10_000);
    await redis.admin.del('a');
    await close();
  });

  it('keeps local waiters waiting, who get it once it has ended', async () => {
    const { locks, eventsOf } = open({ pollIntervalMs: 50 });
    const lease = await locks.acquire('a', { minHoldMs: 20_000 });
    const waiting = watch(locks.acquire('a', { label: 'the next' }));
    await lease.release();
    expect(waiting.state).toBe('pending');
    await redis.admin.pexpire('a', 1);
    await (await waiting.promise).release();
    expect(eventsOf('acquired')).toHaveLength(2);
  });

  it('leaves no claim in the queue when a caller acquires what outsiders leave', async () => {
    const channel = channelOf('a');
    const outsider = redis.admin.duplicate();
    await outsider.subscribe(channel);
    const { locks, connection, context } = open({ pollIntervalMs: 60_000, interop: 'redisson' });
    const listen = connection.listen.bind(connection);
    const unconfirmed = grantChannel('a', context.id);
    connection.listen = (name, { confirmed, ...listener }) =>
      listen(name, {
        ...listener,
        confirmed: name === unconfirmed ? () => undefined : confirmed,
      });
    const held = await locks.acquire('a');
    const waiting = locks.acquire('a', { minHoldMs: 20 });
    await eventually(async () => {
      expect(await redis.admin.pubsub('NUMSUB', channel)).toContain(2);
    });
    // The release queues the waiter, and leaves the lock to the outsider, which has a section.
    await held.release();
    await redis.admin.publish(channel, '0');
    outsider.disconnect();
    await (await waiting).release();
    expect(await redis.admin.zcard('nestjs_lock_queue:{a}')).toBe(0);
  });

  it.each(['this process', 'another'])('is had by %s as soon as it ends', async (whose) => {
    const [ours, others] = [open({ pollIntervalMs: 60_000 }), open({ pollIntervalMs: 60_000 })];
    const lease = await ours.locks.acquire('a', { minHoldMs: 250 });
    const next = whose === 'another' ? others : ours;
    const waiting = next.locks.acquire('a');
    await eventually(async () => (await redis.wakeUpChannels()).length > 0);
    if (next === others) await untilQueued(redis, 'a', [others]);
    await lease.release();
    await (await waiting).release();
  });

  it('stays taken when the message of its grant comes after its release', async () => {
    const [holder, ours] = [open(), open({ pollIntervalMs: 50 })];
    const held = await holder.locks.acquire('a');
    const first = ours.locks.acquire('a', { minHoldMs: 20_000 });
    await untilQueued(redis, 'a', [ours]);
    const channel = grantChannel('a', ours.context.id);
    await redis.listening(channel);
    const ear = redis.admin.duplicate();
    try {
      await ear.subscribe(channel);
      const heard = once(ear, 'message') as Promise<[string, string]>;
      await held.release();
      const lease = await first;
      const next = watch(ours.locks.acquire('a'));
      await lease.release();
      await redis.listening(channel, 2);
      // As if it had been found by a poll before.
      await redis.admin.publish(channel, (await heard)[1]);
      await roundTrips(redis, 20);
      expect(await redis.admin.hgetall('a')).toEqual({ [lease.owner]: '1' });
      expect(next.state).toBe('pending');
      await redis.admin.pexpire('a', 1);
      await (await next.promise).release();
    } finally {
      ear.disconnect();
    }
  });

  it('is not prolonged by a renewal that Redis runs after the release', async () => {
    const [holder, ours] = [open(), open()];
    const held = await holder.locks.acquire('a');
    const options = { minHoldMs: 2_000, leaseTimeMs: 20_000 };
    const working = ours.locks.using('a', () => undefined, options);
    await untilQueued(redis, 'a', [ours]);
    await redis.listening(grantChannel('a', ours.context.id));
    // The renewal goes again, with its text.
    await redis.admin.script('FLUSH');
    await redis.admin.script('LOAD', RELEASE_LATER.lua);
    await held.release();
    await working;
    await roundTrips(redis, 20);
    expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(2_000);
    await redis.admin.del('a');
  });

  it('is freed by its release once the time is over', async () => {
    const { locks } = open();
    const lease = await locks.acquire('a', { minHoldMs: 20 });
    const startedAt = performance.now();
    await eventually(() => performance.now() - startedAt > 20);
    await lease.release();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('has the longest of what nested calls ask for, once all are released', async () => {
    const { locks } = open();
    await locks.using('a', () => locks.using('a', () => undefined, { minHoldMs: 20_000 }));
    expect(await redis.admin.pttl('a')).toBeGreaterThan(10_000);
    await locks.get('a').forceRelease();
    expect(await redis.admin.exists('a')).toBe(0);
  });

  describe('that counts after success only', () => {
    const kept = { minHoldMs: 20_000, holdAfter: 'success' } as const;

    it('stays taken after work that ended well, and not after work that threw', async () => {
      const [ours, others] = [open(), open()];
      const failing = ours.locks.using('a', () => Promise.reject(new Error('no stock')), kept);
      await expect(failing).rejects.toThrow('no stock');
      expect(await redis.admin.exists('a')).toBe(0);
      expect(await others.locks.using('a', () => 'done', kept)).toBe('done');
      expect(await redis.admin.pttl('a')).toBeGreaterThan(10_000);
      expect(await ours.locks.tryAcquire('a')).toBeNull();
      await redis.admin.del('a');
    });

    it('leaves what a call around it keeps', async () => {
      const { locks } = open();
      const inner = () => Promise.reject(new Error('no stock'));
      const outer = () => locks.using('a', inner, kept).catch(() => undefined);
      await locks.using('a', outer, { minHoldMs: 10_000 });
      expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(10_000);
      expect(await redis.admin.pttl('a')).toBeGreaterThan(5_000);
      await redis.admin.del('a');
    });

    it('is only held for the lease of the watchdog while the work runs', async () => {
      const { locks } = open({ watchdogLeaseMs: 5_000 });
      await locks
        .using(
          'a',
          async () => {
            expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(5_000);
            throw new Error('no stock');
          },
          kept,
        )
        .catch(() => undefined);
    });

    it.each(['acquire', 'tryAcquire'] as const)(
      'is refused by %s, which sees no work',
      async (verb) => {
        const asking = open().locks[verb]('a', kept);
        await expect(asking).rejects.toThrow("holdAfter: 'success' needs using or a decorator");
        expect(await redis.admin.exists('a')).toBe(0);
      },
    );

    it.each(['failure', true, null])('cannot be %p', async (holdAfter) => {
      const asking = open().locks.using('a', () => 1, {
        minHoldMs: 1,
        holdAfter: holdAfter as never,
      });
      await expect(asking).rejects.toThrow("holdAfter must be 'always' or 'success'");
    });
  });

  describe('with 20 s, of which 10 s are over', () => {
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };

    beforeEach(() => {
      aheadMs = 0;
    });

    const expectLeft = async (fromMs: number, toMs: number) => {
      const ttl = await redis.admin.pttl('a');
      expect(ttl).toBeGreaterThan(fromMs);
      expect(ttl).toBeLessThanOrEqual(toMs);
      await redis.admin.del('a');
    };

    it('counts for a nested call from when that had it', async () => {
      const { locks } = open({ clock });
      await locks.using('a', async () => {
        aheadMs = 10_000;
        await locks.using('a', () => undefined, { minHoldMs: 20_000 });
      });
      await expectLeft(15_000, 20_000);
    });

    it('counts from the grant also when Redis could not be told at once', async () => {
      const { locks, connection } = open({ clock, connection: proxy.current.url });
      const lease = await locks.acquire('a', { minHoldMs: 20_000 });
      proxy.current.refuse();
      proxy.current.cut();
      await eventually(() => !connection.isUp);
      const releasing = lease.release();
      aheadMs = 10_000;
      await proxy.current.heal();
      await releasing;
      await expectLeft(5_000, 10_000);
    });

    it('holds at a shutdown', async () => {
      const { locks, eventsOf, close } = open({ clock, shutdownTimeoutMs: 0 });
      await locks.acquire('a', { minHoldMs: 20_000 });
      aheadMs = 10_000;
      await close();
      expect(eventsOf('lost')).toMatchObject([{ reason: 'shutdown' }]);
      await expectLeft(5_000, 10_000);
    });

    it('holds when Redis has refused the release at first', async () => {
      const allow = (...rules: string[]) => redis.admin.acl('SETUSER', 'poor', ...rules);
      await allow('on', '>pw', '~*', '&*', '+@all');
      const connection = `redis://poor:pw@127.0.0.1:${redis.port}`;
      const { locks } = open({ clock, connection });
      const lease = await locks.acquire('a', { minHoldMs: 20_000 });
      aheadMs = 10_000;
      await allow('-pexpire');
      await expect(lease.release()).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
      await allow('+pexpire');
      await eventually(async () => (await redis.admin.pttl('a')) <= 10_000);
      await expectLeft(5_000, 10_000);
      await redis.admin.acl('DELUSER', 'poor');
    });
  });

  it('is not kept for a caller who has given up in the moment of its grant', async () => {
    const giving = new AbortController();
    const observer = {
      observe: ({ type }: LockEvent) => {
        if (type === 'acquired') giving.abort(new Error('enough'));
      },
    };
    const { locks } = open({ observer });
    const asking = locks.acquire('a', { minHoldMs: 20_000, signal: giving.signal });
    await expect(asking).rejects.toThrow('enough');
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('is left by no owner that does not hold it, and twice as once', async () => {
    await redis.admin.hset('a', 'other', 1);
    const leave = (owner: string) =>
      deliver(redis.admin, RELEASE_LATER, ['a'], { owner, keepMs: 1_000, channel: 'c' });
    expect(await leave('me')).toBe('absent');
    expect(await redis.admin.pttl('a')).toBe(-1);
    expect([await leave('other'), await leave('other')]).toEqual(['done', 'done']);
    expect(await redis.admin.hgetall('a')).toEqual({ other: '1' });
    expect(await redis.admin.pttl('a')).toBeLessThanOrEqual(1_000);
  });

  it.each([-1, NaN, Infinity, '1s', 1.5])('cannot be %p', async (minHoldMs) => {
    const asking = open().locks.acquire('a', { minHoldMs: minHoldMs as number });
    await expect(asking).rejects.toThrow(LockArgumentError);
  });

  it('is no longer than a fixed lease', async () => {
    const asking = open().locks.acquire('a', { minHoldMs: 20, leaseTimeMs: 10 });
    await expect(asking).rejects.toThrow('leaseTimeMs must not be less than minHoldMs');
  });
});
