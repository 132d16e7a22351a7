import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LockArgumentError,
  LockBackendError,
  LockMonitor,
  LockService,
  SemaphoreService,
} from 'nestjs-redis-lock/core';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { pageOf } from '../support/proofs.js';
import { eventually, useLocks, useProxy, useRealRedis } from '../support/set-up.js';

describe('LockMonitor', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const open = useLocks(redis, (context) => ({
    locks: new LockService(context),
    semaphores: new SemaphoreService(context),
    monitor: new LockMonitor(context),
  }));

  afterEach(async () => {
    await redis.admin.config('SET', 'maxmemory', 0);
    await redis.admin.replicaof('NO', 'ONE');
  });

  /** A client of which the connection stands. */
  const opened = async (settings: Parameters<typeof open>[0] = {}) => {
    const { locks, context } = open({ connection: proxy.current.url, ...settings });
    await eventually(() => locks.monitor.ping());
    return { ...locks, context, idle: { ...IDLE, clients: [context.client] } };
  };

  const IDLE = {
    ...{ connection: 'default', isUp: true, isHearing: true },
    ...{ held: 0, suspect: 0, waiting: 0 },
  };

  it('counts what is held and who waits, and nothing of what is over', async () => {
    const { locks, semaphores, monitor, idle } = await opened();
    expect(monitor.status()).toEqual(idle);
    const pool = semaphores.get('s');
    await pool.setPermits(3);
    const leases = [await locks.acquire('a'), await pool.acquire({ permits: 2 })];
    await locks.using('b', () => {
      expect(monitor.status().held).toBe(3);
      return locks.using('b', () => expect(monitor.status().held).toBe(3));
    });
    const waiting = ['a', 'a', 'b'].map((name) => locks.acquire(name));
    const busy = locks.tryAcquire('a');
    expect(monitor.status()).toMatchObject({ waiting: 3 });
    leases.push(await (waiting[2] ?? locks.acquire('never')));
    expect(await busy).toBeNull();
    expect(monitor.status()).toMatchObject({ held: 3, waiting: 2 });
    for (const lease of leases) await lease.release();
    for (const other of waiting.slice(0, 2)) await (await other).release();
    expect(monitor.status()).toEqual(idle);
    await redis.admin.flushall();
  });

  it('counts who waits for a turn inside of a hold', async () => {
    const { locks, monitor, idle } = await opened();
    await locks.using('a', async () => {
      const first = await locks.acquire('a');
      const others = [locks.acquire('a'), locks.acquire('a', { waitTimeMs: 30 })];
      expect(monitor.status()).toMatchObject({ held: 1, waiting: 2 });
      await expect(others[1]).rejects.toMatchObject({ blockedBy: 'sibling' });
      expect(monitor.status()).toMatchObject({ held: 1, waiting: 1 });
      await first.release();
      await (await others[0])?.release();
    });
    expect(monitor.status()).toEqual(idle);
  });

  it('counts the holds that a suspension of the machine has put in doubt', async () => {
    let asleepMs = 0;
    const clock = { ...systemClock, wall: () => systemClock.wall() + asleepMs };
    const { locks, monitor } = await opened({ clock });
    const lease = await locks.acquire('a', { leaseTimeMs: 20_000 });
    asleepMs = 10_000;
    expect([lease.state, monitor.status().suspect]).toEqual(['suspect', 1]);
    await lease.renew();
    expect([lease.state, monitor.status().suspect]).toEqual(['held', 0]);
    await lease.release();
  });

  it('adds what is held on other servers under the same name', async () => {
    const [ours, nodes] = [open({ name: 'cache' }), open()];
    const monitor = new LockMonitor(ours.context, [nodes.context]);
    const leases = [await ours.locks.locks.acquire('a'), await nodes.locks.locks.acquire('b')];
    const clients = [ours.context.client, nodes.context.client];
    expect(monitor.status()).toMatchObject({ connection: 'cache', clients, held: 2 });
    for (const [i, { owner }] of leases.entries()) expect(owner).toContain(`${clients[i]}-`);
    for (const lease of leases) await lease.release();
  });

  it('says whether wake-up messages arrive', async () => {
    const [ours, others] = [await opened({ pollIntervalMs: 50 }), await opened()];
    const lease = await others.locks.acquire('a');
    const waiting = ours.locks.acquire('a');
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    await eventually(() => ours.monitor.status().isHearing);
    proxy.current.refuse();
    // That of the one that waits is the newest.
    const subscriber = proxy.current.connections.at(-1);
    proxy.current.cut({ where: (connection) => connection === subscriber });
    await eventually(() => !ours.monitor.status().isHearing);
    expect(ours.monitor.status()).toMatchObject({ isUp: true, waiting: 1 });
    await proxy.current.heal();
    await eventually(() => ours.monitor.status().isHearing);
    await lease.release();
    await (await waiting).release();
  });

  it('counts the holds whose renewals fail, until one gets through', async () => {
    const { locks, monitor } = await opened({ watchdogLeaseMs: 3_000 });
    const lease = await locks.acquire('a');
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => monitor.status().suspect === 1);
    expect(monitor.status()).toMatchObject({ isUp: false, held: 1 });
    await proxy.current.heal();
    await eventually(() => monitor.status().suspect === 0);
    await lease.release();
  });

  describe('ping', () => {
    it('leaves nothing in Redis, and keeps to the keys of the connection', async () => {
      const { monitor } = await opened({ keyPrefix: 'shop:' });
      expect(await monitor.ping()).toBeGreaterThan(0);
      await eventually(async () => (await redis.admin.dbsize()) === 0);
    });

    const cutOff = (monitor: LockMonitor) => {
      proxy.current.refuse();
      proxy.current.cut();
      return eventually(() => !monitor.status().isUp);
    };

    it.each<[string, (monitor: LockMonitor) => unknown, string]>([
      ['is gone', cutOff, 'there is no connection to Redis'],
      ['says nothing', () => proxy.current.blackhole(), 'Redis did not answer for 100 ms'],
      ['is a replica', () => redis.admin.replicaof('127.0.0.1', 1), 'the server is a replica now'],
      ['is full', () => redis.admin.config('SET', 'maxmemory', 1), 'Redis has no memory left'],
    ])('rejects when Redis %s', async (_, takeAway, message) => {
      const { monitor } = await opened();
      await takeAway(monitor);
      const error: unknown = await monitor.ping(100).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LockBackendError);
      expect((error as Error).message).toContain(message);
      await proxy.current.heal();
      await eventually(() => monitor.status().isUp);
    });

    it('needs the rights that the docs name', async () => {
      const [, rules = ''] =
        /`(\+[^`]* ~nestjs_ping:[^`]*)`/.exec(pageOf('docs/security.md')) ?? [];
      for (const [more, isEnough] of [
        [rules.split(' '), true],
        [[], false],
      ] as const) {
        const rights = ['reset', 'on', '>pass', '+eval', '+evalsha', '+info', '~app:*', ...more];
        await redis.admin.acl('SETUSER', 'doctor', ...rights);
        const connection = redis.url.replace('//', '//doctor:pass@');
        const { monitor } = open({ connection, keyPrefix: 'app:' }).locks;
        await eventually(() => monitor.status().isUp);
        const asking = monitor.ping();
        if (isEnough) expect(await asking).toBeGreaterThan(0);
        else await expect(asking).rejects.toThrow('the Redis user lacks a permission');
      }
      await redis.admin.acl('DELUSER', 'doctor');
    });

    it('refuses to wait for what is no time', async () => {
      const { monitor } = open().locks;
      for (const limit of [0, -1, 1.5, NaN, Infinity, 60_001, '5', null]) {
        await expect(monitor.ping(limit as number)).rejects.toThrow(LockArgumentError);
      }
    });
  });
});
