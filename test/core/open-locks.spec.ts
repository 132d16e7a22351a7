import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockService, RedisLockModule } from 'nestjs-redis-lock';
import {
  CurrentLock,
  LeaseLostError,
  LockShutdownError,
  openLocks,
  type LockEvent,
  type OpenLocksOptions,
} from 'nestjs-redis-lock';
import { collectLockMetrics } from 'nestjs-redis-lock/prometheus';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import { Registry } from 'prom-client';
import { of } from 'rxjs';
import { eventually, Gate, useRealRedis, useWorkers, watch } from '../support/set-up.js';
import { useLockFamilies } from '../support/lock-families.js';
import type { Api } from './open-locks.worker.js';

const servers = [useRealRedis(), useRealRedis(), useRealRedis()] as const;
const [redis] = servers;
const open = useLockFamilies(servers);

const nameOf = (call: Promise<unknown>) => call.catch((error: unknown) => (error as Error).name);

describe("onEviction: 'refuse'", () => {
  const evicting = async (policy: string, maxmemory: string) => {
    await redis.admin.config('SET', 'maxmemory-policy', policy, 'maxmemory', maxmemory);
  };
  afterEach(() => evicting('noeviction', '0'));

  it('refuses every call, of red locks too, until the server evicts nothing', async () => {
    await evicting('allkeys-lru', '100mb');
    const locks = open({ onEviction: 'refuse' });
    const redLock = { nodes: [redis.url] };
    const { red } = open({ onEviction: 'refuse', redLock, connection: servers[1].url });
    const refused = { code: 'LOCK_CONFIGURATION' };
    for (const call of [
      () => locks.lock.acquire('a'),
      () => locks.fair.tryAcquire('a'),
      () => locks.semaphore.get('s').permits(),
      () => locks.latch.get('l').getCount(),
      () => red.acquire('a'),
    ]) {
      await expect(call()).rejects.toMatchObject(refused);
    }
    await evicting('noeviction', '100mb');
    await locks.lock.using('a', () => undefined);
  });

  it('asks again after a silence of the server', async () => {
    await evicting('allkeys-lru', '100mb');
    const client = new Redis(redis.url);
    await client.ping();
    const locks = open({ connection: client, onEviction: 'refuse' });
    redis.pause();
    const unanswered = nameOf(locks.lock.acquire('a', { waitTimeMs: 4_000 }));
    const names = [await unanswered.finally(() => redis.resume())];
    names.push(await nameOf(locks.lock.acquire('a')));
    await locks.close();
    client.disconnect();
    expect(names).toEqual(['LockBackendError', 'LockConfigurationError']);
  });

  it('warns where the user may not ask for the policy', async () => {
    await evicting('allkeys-lru', '100mb');
    await redis.admin.acl('SETUSER', 'blind', 'on', '>x', '~*', '&*', '+@all', '-info');
    // ioredis prints that it may not ask whether Redis is ready.
    jest.spyOn(console, 'warn').mockReturnValue();
    const warnings: string[] = [];
    const observe = (event: LockEvent) => {
      if (event.type === 'warning') warnings.push(event.message);
    };
    const connection = redis.url.replace('//', '//blind:x@');
    const locks = open({ connection, onEviction: 'refuse', observer: { observe } });
    await locks.lock.using('a', () => undefined);
    expect(warnings).toEqual([expect.stringContaining('INFO')]);
    await locks.close();
    await redis.admin.acl('DELUSER', 'blind');
    jest.restoreAllMocks();
  });
});

describe('the services of openLocks()', () => {
  it('lock, fair and readWrite keep others out, and know the lease of the caller', async () => {
    const [ours, others] = [open(), open()];
    const once = { waitTimeMs: 0 };
    const held = await ours.lock.using('a', async () => {
      expect(await others.lock.tryAcquire('a')).toBeNull();
      return CurrentLock.lease().name;
    });
    expect(held).toBe('a');
    await using both = await ours.lock.multi(['b', 'c']).acquire();
    await using fair = await ours.fair.acquire('d');
    await using reader = await ours.readWrite.get('e').read.acquire();
    await using second = await others.readWrite.get('e').read.acquire();
    expect([both, fair, reader, second].map(({ state }) => state)).toEqual(Array(4).fill('held'));
    expect(await others.lock.tryAcquire('c')).toBeNull();
    expect(await others.fair.tryAcquire('d')).toBeNull();
    expect(await others.readWrite.get('e').write.tryAcquire(once)).toBeNull();
    expect(ours.monitor.status()).toMatchObject({ connection: 'default', isUp: true, held: 4 });
    expect(await ours.monitor.ping()).toBeGreaterThan(0);
  });

  it('refuse work that returns an Observable, in every form of using', async () => {
    const family = open();
    const permits = family.semaphore.get('s');
    await permits.trySetPermits(1);
    const { read, write } = family.readWrite.get('e');
    const lazy = () => of(1);
    for (const call of [
      () => family.lock.using('a', lazy),
      () => family.lock.multi(['b', 'c']).using(lazy),
      () => family.fair.using('d', lazy),
      () => read.using(lazy),
      () => write.using(lazy),
      () => permits.using(lazy),
    ]) {
      await expect(call()).rejects.toThrow(/^The work under lock ".+" returned an Observable/);
    }
    expect(await permits.availablePermits()).toBe(1);
  });

  it('semaphore, latch and fencing count, open, and refuse who is late', async () => {
    const locks = open();
    const [permits, counter] = [locks.semaphore.get('s'), locks.semaphore.counting('n')];
    await permits.trySetPermits(1);
    const permit = await permits.acquire();
    expect(await permits.tryAcquire()).toBeNull();
    await permit.release();
    await counter.trySetPermits(2);
    expect([await counter.tryAcquire(2), await counter.tryAcquire()]).toEqual([true, false]);
    const latch = locks.latch.get('l');
    await latch.trySetCount(1);
    const waiting = latch.wait();
    await latch.countDown();
    expect(await waiting).toBe(true);

    const former = await locks.lock.acquire('a', { fenced: true });
    await former.release();
    await using lease = await locks.lock.acquire('a', { fenced: true });
    await locks.fencing.write(lease.fencingToken, 'stock', 'set', 5);
    const late = locks.fencing.write(former.fencingToken, 'stock', 'set', 9);
    await expect(late).rejects.toThrow(LeaseLostError);
    expect(await redis.admin.get('stock')).toBe('5');
    await lease.release();
    await redis.admin.flushall();
  });

  it('semaphore lets who has counting permits release them while close() waits', async () => {
    const locks = open({ shutdownTimeoutMs: 60_000 });
    const permits = locks.semaphore.counting('a', { capacity: 3 });
    await permits.acquire(2);
    expect(await permits.tryAcquire(1)).toBe(true);
    const closing = watch(locks.close());
    await nameOf(permits.acquire());
    await permits.release(2);
    expect(closing.state).toBe('pending');
    await permits.release();
    await closing.promise;
    expect(await redis.admin.get('a')).toBe('3');
    await redis.admin.del('a');
  });

  it('semaphore counts what its own process has acquired, also when another process released it', async () => {
    const [taker, giver] = [
      open({ shutdownTimeoutMs: 60_000 }),
      open({ shutdownTimeoutMs: 60_000 }),
    ];
    await taker.semaphore.counting('a', { capacity: 1 }).acquire();
    await giver.semaphore.counting('a').release();
    await giver.semaphore.counting('a').acquire();
    await giver.semaphore.counting('a').release();
    await giver.close();
    const closing = watch(taker.close());
    await taker.semaphore.counting('a').release();
    await closing.promise;
    await redis.admin.del('a');
  });

  it('red asks a majority, and the lock is released by close()', async () => {
    const nodes = servers.map(({ url }) => url);
    const locks = open({ watchdogLeaseMs: 1_000, redLock: { nodes, longestLeaseMs: 1_000 } });
    await locks.red.acquire('a', { waitTimeMs: 15_000 });
    expect(locks.monitor.status().held).toBe(1);
    const counts = () => Promise.all(servers.map(({ admin }) => admin.exists('a')));
    expect((await counts()).reduce((sum, one) => sum + one)).toBeGreaterThanOrEqual(2);
    await locks.close();
    expect(await counts()).toEqual([0, 0, 0]);
  });

  it('share their locks with an application of Nest', async () => {
    @Module({ imports: [RedisLockModule.forRoot({ connection: redis.connection })] })
    class App {}
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    try {
      const locks = open();
      const theirs = await app.get(LockService).acquire('a');
      expect(await locks.lock.tryAcquire('a')).toBeNull();
      const waiting = locks.lock.acquire('a');
      await redis.listening('redisson_lock__channel:{a}');
      await theirs.release();
      await using ours = await waiting;
      expect(ours.state).toBe('held');
      expect(await app.get(LockService).tryAcquire('a')).toBeNull();
    } finally {
      await app.close();
    }
  });
});

describe('the events of openLocks()', () => {
  it('are told to the observer, in the channel of Node and in metrics, by the name', async () => {
    const events: LockEvent[] = [];
    const messages: unknown[] = [];
    const hear = (message: unknown) => messages.push(message);
    const register = new Registry();
    const stop = collectLockMetrics(register);
    subscribe('nestjs-redis-lock:event', hear);
    try {
      const observer = { observe: (event: LockEvent) => events.push(event) };
      const locks = open({ name: 'jobs', observer });
      await locks.lock.using('a', () => undefined, { label: 'an a' });
    } finally {
      unsubscribe('nestjs-redis-lock:event', hear);
      stop();
    }
    const of = { kind: 'lock', name: 'a', label: 'an a' };
    const told = [
      { type: 'opened', host: hostname(), pid: process.pid },
      { ...of, type: 'acquired' },
      { ...of, type: 'released' },
    ];
    expect(events).toMatchObject(told);
    expect(messages).toMatchObject(told.map((event) => ({ ...event, connection: 'jobs' })));
  });
});

describe('the end of openLocks()', () => {
  it('rejects waiters and new calls, lets holders finish, and may be called twice', async () => {
    const locks = open();
    const gate = new Gate();
    const holder = locks.lock.using('a', async () => {
      await gate.opened;
      return locks.lock.using('a', () => 'nested');
    });
    await eventually(() => redis.admin.exists('a').then((count) => count === 1));
    const latch = locks.latch.get('l');
    await latch.trySetCount(1);
    const waiters = [locks.lock.acquire('a'), latch.wait()].map(nameOf);
    await eventually(() => locks.monitor.status().waiting === 2);
    const closing = [watch(locks.close()), watch(locks[Symbol.asyncDispose]())];
    expect(await Promise.all(waiters)).toEqual(['LockShutdownError', 'LockShutdownError']);
    await expect(locks.semaphore.get('s').acquire()).rejects.toThrow(LockShutdownError);
    expect(closing.map(({ state }) => state)).toEqual(['pending', 'pending']);
    gate.open();
    expect(await holder).toBe('nested');
    await Promise.all(closing.map(({ promise }) => promise));
    await locks.close();
    await redis.admin.flushall();
  });

  it('comes with the end of a block, also when the block fails', async () => {
    const work = async () => {
      await using locks = openLocks({ connection: redis.connection });
      await locks.lock.acquire('a');
      throw new Error('no luck');
    };
    await expect(work()).rejects.toThrow('no luck');
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('leaves a client of the caller as it was', async () => {
    const client = new Redis(redis.url);
    const locks = open({ connection: client });
    await locks.lock.using('a', () => undefined);
    await locks.close();
    expect(await client.ping()).toBe('PONG');
    expect(client.listenerCount('ready')).toBe(0);
    client.disconnect();
  });
});

describe('a process', () => {
  const workers = useWorkers();
  const file = new URL('open-locks.worker.ts', import.meta.url);
  const start = async (options: OpenLocksOptions = {}) => {
    const worker = await workers.start<Api>(file);
    await worker.call.open({ connection: redis.url, shutdownTimeoutMs: 100, ...options });
    return worker;
  };

  it('exits by itself after close(), which takes the lock from who does not finish', async () => {
    const worker = await start();
    await worker.call.load('a');
    await eventually(() => worker.reports.includes('held'));
    await worker.call.close();
    await eventually(() => {
      expect([...worker.reports].sort()).toEqual(['LeaseLostError', 'LockShutdownError', 'held']);
    });
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
    expect(await redis.admin.exists('a')).toBe(0);
  });

  it('exits by itself after close() before the first connection', async () => {
    const nowhere = 'redis://127.0.0.1:1';
    const redLock = { nodes: [nowhere, redis.url, servers[1].url] };
    const worker = await start({ connection: nowhere, redLock });
    await worker.call.close();
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
  });

  it('exits by itself when its red lock cannot be used', async () => {
    const worker = await start({ redLock: { nodes: [redis.url, redis.url] } });
    await worker.call.acquireRed('a');
    await eventually(() => worker.reports.includes('LockConfigurationError'));
    await worker.call.close();
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
  });

  it('releases on SIGTERM when its handler calls close()', async () => {
    const worker = await start();
    await worker.call.closeOnSignal();
    await worker.call.load('a');
    await eventually(() => worker.reports.includes('held'));
    worker.signal('SIGTERM');
    await eventually(() => worker.reports.includes('closed'));
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
    expect(await redis.admin.exists('a')).toBe(0);
  });
});
