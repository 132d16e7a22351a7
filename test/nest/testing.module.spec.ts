import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  Injectable,
  Module,
  type DynamicModule,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import {
  CronLock,
  FairLockService,
  FencingGuard,
  getLockServiceToken,
  LatchService,
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockKey,
  LockMonitor,
  LockService,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  ReadWriteLockService,
  RedisLockModule,
  RedLockService,
  SemaphoreService,
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  WithWriteLock,
  type LockEvent,
} from 'nestjs-redis-lock';
import {
  LockTesting,
  RedisLockTestingModule,
  type RedisLockTestingModuleOptions,
} from 'nestjs-redis-lock/testing';
import { RedisThrottlerModule, RedisThrottlerStorage } from 'nestjs-redis-lock/throttler';
import { hostname } from 'node:os';
import { watch } from '../contract/suite.js';

/** No server listens here. */
const NOWHERE = 'redis://127.0.0.1:1';

const nothing = () => undefined;
const SILENT = { log: nothing, error: nothing, warn: nothing };

const opened = new Set<TestingModule>();
afterEach(async () => {
  const apps = [...opened];
  opened.clear();
  for (const app of apps) await app.close();
});

async function compile(builder: TestingModuleBuilder): Promise<TestingModule> {
  const app = await builder.setLogger(SILENT).compile();
  opened.add(app);
  return app.init();
}

async function start(options: RedisLockTestingModuleOptions = {}, metadata: ModuleMetadata = {}) {
  const imports = [RedisLockTestingModule.forRoot(options), ...(metadata.imports ?? [])];
  const app = await compile(Test.createTestingModule({ ...metadata, imports }));
  return { app, testing: app.get(LockTesting), locks: app.get(LockService) };
}

async function provided<T extends object>(provider: Type<T>) {
  const { app, testing } = await start({}, { providers: [provider] });
  return { service: app.get(provider), testing };
}

describe('RedisLockTestingModule', () => {
  it('has what the decorators of all kinds need', async () => {
    @Injectable()
    class Shop {
      @WithLock('p_<id>')
      async lock(@LockKey('id') _id: number) {
        return this.#held();
      }
      @WithLock(['a_<id>', 'b_<id>'])
      async several(@LockKey('id') _id: number) {
        return this.#held();
      }
      @WithFairLock('f_<id>')
      async fair(@LockKey('id') _id: number) {
        return this.#held();
      }
      @WithReadLock('rw_<id>')
      async read(@LockKey('id') _id: number) {
        return this.#held();
      }
      @WithWriteLock('rw_<id>')
      async write(@LockKey('id') _id: number) {
        return this.#held();
      }
      @WithSemaphore('s_<id>', { permits: 2 })
      async semaphore(@LockKey('id') _id: number) {
        return this.#held();
      }
      constructor(
        private readonly testing: LockTesting,
        private readonly semaphores: SemaphoreService,
      ) {}
      open = () => this.semaphores.get('s_1').trySetPermits(5);
      #held = () => this.testing.held().map(({ name, kind }) => `${kind} ${name}`);
    }
    const { service } = await provided(Shop);
    await service.open();
    expect(await service.lock(1)).toEqual(['lock p_1']);
    expect(await service.several(1)).toEqual(['lock a_1', 'lock b_1']);
    expect(await service.fair(1)).toEqual(['fair f_1']);
    expect(await service.read(1)).toEqual(['read rw_1']);
    expect(await service.write(1)).toEqual(['write rw_1']);
    expect(await service.semaphore(1)).toEqual(['semaphore s_1']);
  });

  it('has every service that an application injects', async () => {
    const { app, testing } = await start();
    await app.get(FairLockService).using('a', () => {
      testing.assertHeld('a', 'fair');
    });
    const { read, write } = app.get(ReadWriteLockService).get('a');
    await read.using(() => {
      testing.assertHeld('a', 'read');
    });
    await write.using(() => {
      testing.assertHeld('a', 'write');
    });
    await app.get(RedLockService).using('a', () => {
      testing.assertHeld('a', 'red');
    });
    const semaphore = app.get(SemaphoreService).counting('free');
    await semaphore.trySetPermits(2);
    await semaphore.acquire(2);
    expect(await semaphore.tryAcquire()).toBe(false);
    const latch = app.get(LatchService).get('ready');
    await latch.trySetCount(1);
    const waiting = latch.wait();
    await latch.countDown();
    expect(await waiting).toBe(true);
  });

  it('gives fencing tokens that rise, and a guard that refuses the older one', async () => {
    const { app, locks } = await start();
    const guard = app.get(FencingGuard);
    const tokenOf = () => locks.using('a', ({ fencingToken }) => fencingToken, { fenced: true });
    const [first, second] = [await tokenOf(), await tokenOf()];
    expect(second).toBeGreaterThan(first);
    await guard.write(second, 'stock', 'set', 7);
    await guard.write(second, 'stock', 'set', 6);
    await expect(guard.write(first, 'stock', 'set', 8)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      reason: 'overtaken',
    });
  });

  it('has a guard for each command, with each option', async () => {
    const { app } = await start();
    const guard = app.get(FencingGuard);
    const written: [string, Parameters<FencingGuard['write']>[2], ...(string | number)[]][] = [
      ['text', 'set', 1, 'ex', 60],
      ['text', 'set', 2, 'XX', 'keepttl'],
      ['text', 'set', 3, 'xx', 'exat', 9_000_000_000],
      ['text', 'set', 4, 'px', 60_000],
      ['text', 'set', 5, 'pxat', 9_000_000_000_000],
      ['other', 'set', 1, 'nx'],
      ['text', 'del'],
      ['hash', 'hset', 'a', 1],
      ['hash', 'hdel', 'a'],
      ['members', 'sadd', 'a', 'b'],
      ['members', 'srem', 'a'],
    ];
    for (const write of written) expect(await guard.write(1, ...write)).toBe(true);
    expect(await guard.write(2, 'text', 'set', 1, 'xx')).toBe(false);
    expect(await guard.write(2, 'other', 'set', 2, 'nx')).toBe(false);
    await expect(guard.write(2, 'members', 'set', 1)).resolves.toBe(true);
    await expect(guard.write(2, 'members', 'srem', 'b')).rejects.toThrow(LockStateError);
  });

  it('has what people ask and do by the monitor, for every kind', async () => {
    const { app, testing, locks } = await start();
    const monitor = app.get(LockMonitor);
    expect(await monitor.inspect('a')).toMatchObject({ kinds: [], holders: [], queues: [] });
    for (const kind of ['lock', 'fair', 'read', 'write', 'semaphore'] as const) {
      const pool = app.get(SemaphoreService).get(kind);
      if (kind === 'semaphore') await pool.setPermits(1);
      const { owner } = await testing.holdElsewhere(kind, { kind, leaseTimeMs: 5_000 });
      expect(await monitor.inspect(kind)).toMatchObject({
        ...{ kinds: [kind === 'fair' ? 'lock' : kind], remainingMs: 5_000, holderCount: 1 },
        holders: [{ owner, holdCount: 1, remainingMs: 5_000 }],
      });
      expect(await monitor.forceRelease(kind)).toBe(true);
      expect(await monitor.forceRelease(kind)).toBe(false);
    }
    const held = await testing.holdElsewhere('fair', { kind: 'fair' });
    const waiting = app.get(FairLockService).acquire('fair');
    await testing.clock.advance(0);
    expect(await monitor.inspect('fair')).toMatchObject({
      ...{ kinds: ['fair'], holders: [{ kind: 'fair', owner: held.owner }] },
      queues: [{ kind: 'fair', length: 1, waiters: [{ who: expect.any(String) }] }],
    });
    await held.release();
    await (await waiting).release();
    const writing = await testing.holdElsewhere('doc', { kind: 'write' });
    const reading = app.get(ReadWriteLockService).get('doc').read.acquire();
    await testing.clock.advance(0);
    expect(await monitor.inspect('doc')).toMatchObject({
      ...{ kinds: ['write', 'read'], queues: [{ kind: 'read', each: 'caller' }] },
    });
    await writing.release();
    await (await reading).release();
    await app.get(LatchService).get('latch').trySetCount(2);
    expect(await monitor.inspect('latch')).toMatchObject({ count: 2 });
    const token = await locks.using('b', ({ fencingToken }) => fencingToken, { fenced: true });
    expect(await monitor.inspect('b')).toMatchObject({ fencingToken: token, holders: [] });
  });

  it('has what health checks and the guards of a throttler ask', async () => {
    const { app, testing } = await start({}, { imports: [RedisThrottlerModule.forRoot()] });
    expect(await app.get(LockMonitor).ping()).toBe(0);
    const storage = app.get(RedisThrottlerStorage);
    const hit = async (blockMs: number) => {
      const { isBlocked, totalHits, timeToBlockExpire } = await storage.increment(
        ...(['visitor', 10_000, 2, blockMs, 'default'] as const),
      );
      return [isBlocked, totalHits, timeToBlockExpire];
    };
    expect(await hit(0)).toEqual([false, 1, 0]);
    await testing.clock.advance(4_000);
    expect(await hit(0)).toEqual([false, 2, 0]);
    expect(await hit(0)).toEqual([true, 3, 6]);
    await testing.clock.advance(6_000);
    expect(await hit(0)).toEqual([false, 2, 0]);
    for (const left of [3, 2]) {
      expect(await hit(3_000)).toEqual([true, 3, left]);
      await testing.clock.advance(1_000);
    }
    await testing.clock.advance(1_000);
    expect(await hit(3_000)).toEqual([false, 1, 0]);
  });

  it('has the record of the process for longer than a day', async () => {
    const { app, locks, testing } = await start();
    await testing.clock.advance(30 * 3_600_000);
    await locks.using('a', async () => {
      const { holders } = await app.get(LockMonitor).inspect('a');
      expect(holders).toMatchObject([{ process: { host: hostname(), pid: process.pid } }]);
    });
  });

  it('takes the options of RedisLockModule, and checks them as that does', async () => {
    const events: LockEvent[] = [];
    const observer = { observe: (event: LockEvent) => events.push(event) };
    const options = { keyPrefix: 'shop:', waitTimeMs: 50, watchdogLeaseMs: 1_000, observer };
    const { locks, testing } = await start({ ...options, connection: NOWHERE });
    await testing.holdElsewhere('a');
    const refused = expect(locks.acquire('a')).rejects.toMatchObject({ waitedMs: 50 });
    await testing.clock.advance(50);
    await refused;
    expect(events.map(({ type }) => type)).toEqual(['opened', 'timed-out']);
    for (const wrong of [{ watchdogLeaseMs: 1 }, { leaseTime: 1 }, { clock: 'wall' }]) {
      await expect(start(wrong as never)).rejects.toThrow(LockConfigurationError);
    }
  });

  it('takes its options from a factory', async () => {
    const useFactory = () => Promise.resolve({ connection: NOWHERE, waitTimeMs: 70 });
    const imports = [RedisLockTestingModule.forRootAsync({ useFactory, clock: 'system' })];
    const app = await compile(Test.createTestingModule({ imports }));
    await app.get(LockTesting).holdElsewhere('a');
    await expect(app.get(LockService).acquire('a')).rejects.toThrow(LockTimeoutError);
  });

  it('is another world in each application', async () => {
    const [one, other] = [await start(), await start()];
    const lease = await one.locks.acquire('a');
    one.testing.failNext('acquire');
    expect(other.testing.held()).toEqual([]);
    await (await other.locks.acquire('a', { waitTimeMs: 0 })).release();
    await one.testing.clock.advance(60_000);
    expect(other.testing.clock.now()).toBe(0);
    lease.assertHeld();
  });

  it('has several connections, which share nothing but the clock', async () => {
    const imports = [
      RedisLockTestingModule.forRoot(),
      RedisLockTestingModule.forRoot({ name: 'cache', waitTimeMs: 500 }),
    ];
    const app = await compile(Test.createTestingModule({ imports }));
    const testing = app.get(LockTesting);
    const cache = app.get<LockService>(getLockServiceToken(LockService, 'cache'));
    const lease = await testing.holdElsewhere('a', { connection: 'cache' });
    await app.get(LockService).using('a', () => {
      testing.assertHeld('a');
      expect(testing.held().map(({ connection, by }) => [connection, by])).toEqual([
        ['default', 'application'],
        ['cache', 'elsewhere'],
      ]);
    });
    const refused = expect(cache.acquire('a')).rejects.toThrow(LockTimeoutError);
    await testing.clock.advance(500);
    await refused;
    await lease.release();
    await (await cache.acquire('a')).release();
  });

  it('refuses what would be two of one name, two clocks, or two neighbours, and says where', async () => {
    const place = expect.stringMatching(/testing\.module\.spec\.ts.*testing\.module\.spec\.ts/);
    const [first, second] = [RedisLockTestingModule.forRoot(), RedisLockTestingModule.forRoot()];
    const wrong: [DynamicModule, unknown][] = [
      [second, expect.objectContaining({ message: place })],
      [RedisLockModule.forRoot(), expect.any(LockConfigurationError)],
      [
        RedisLockTestingModule.forRoot({ name: 'b', clock: 'system' }),
        expect.objectContaining({ message: expect.stringContaining('one clock') }),
      ],
      [
        RedisLockTestingModule.forRoot({ name: 'b', beside: new LockTesting() }),
        expect.objectContaining({ message: expect.stringContaining('one beside') }),
      ],
    ];
    for (const [other, error] of wrong) {
      const builder = Test.createTestingModule({ imports: [first, other] }).setLogger(SILENT);
      await expect(builder.compile()).rejects.toEqual(error);
    }
  });
});

describe('an application that imports RedisLockModule', () => {
  const useFactory = () => ({ connection: NOWHERE, waitTimeMs: 30 });
  const redLock = { nodes: [NOWHERE] };
  const LOCKS = RedisLockModule.forRoot({ connection: NOWHERE, waitTimeMs: 30, redLock });

  it.each([
    ['forRoot', LOCKS],
    ['forRootAsync', RedisLockModule.forRootAsync({ useFactory })],
  ])('runs without Redis, with the options that it has there: %s', async (_, locksModule) => {
    @Module({ imports: [locksModule] })
    class AppModule {}
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const testing = RedisLockTestingModule.replaceRedisIn(builder);
    const app = await compile(builder);
    const locks = app.get(LockService);
    await locks.using('a', () => {
      testing.assertHeld('a');
    });
    const lease = await testing.holdElsewhere('a');
    const refused = expect(locks.acquire('a')).rejects.toThrow(LockTimeoutError);
    await testing.clock.advance(30);
    await refused;
    await lease.release();
    if (locksModule === LOCKS) await (await app.get(RedLockService).acquire('a')).release();
  });

  it('can have it replaced by overrideModule, where the result of forRoot has a name', async () => {
    @Module({ imports: [LOCKS] })
    class AppModule {}
    const builder = Test.createTestingModule({ imports: [AppModule] });
    builder.overrideModule(LOCKS as never).useModule(RedisLockTestingModule.forRoot() as never);
    const app = await compile(builder);
    await app.get(LockService).using('a', () => {
      app.get(LockTesting).assertHeld('a');
    });
  });
});

describe('LockTesting', () => {
  it('says what is held, by whom, and for how long', async () => {
    const { locks, testing } = await start();
    await testing.holdElsewhere('b', { kind: 'fair', leaseTimeMs: 5_000 });
    await locks.using('a', () =>
      locks.using('a', async () => {
        await testing.clock.advance(1_000);
        const connection = 'default';
        expect(testing.held()).toEqual([
          {
            name: 'a',
            kind: 'lock',
            connection,
            by: 'application',
            holdCount: 2,
            remainingMs: 28_698,
          },
          {
            name: 'b',
            kind: 'fair',
            connection,
            by: 'elsewhere',
            holdCount: 1,
            remainingMs: 3_948,
          },
        ]);
      }),
    );
    await testing.clock.advance(5_000);
    expect(testing.held()).toEqual([]);
  });

  describe('assertHeld', () => {
    it('throws unless the application holds it, and says what is held', async () => {
      const { locks, testing } = await start();
      expect(() => {
        testing.assertHeld('a');
      }).toThrow('The application does not hold the lock "a"; nothing is held');
      await testing.holdElsewhere('a', { kind: 'read' });
      const lease = await locks.acquire('b');
      testing.assertHeld('b');
      testing.assertHeld('b', 'lock');
      const held = 'held: read "a" elsewhere, lock "b" by the application';
      for (const [name, kind] of [
        ['a', 'read'],
        ['b', 'fair'],
      ] as const) {
        const message = `The application does not hold the ${kind} "${name}"; ${held}`;
        expect(() => {
          testing.assertHeld(name, kind);
        }).toThrow(expect.objectContaining({ name: 'AssertionError', message }));
      }
      await lease.release();
    });
  });

  describe('holdElsewhere', () => {
    it.each(['lock', 'fair', 'read', 'write', 'red'] as const)(
      'keeps the application out until it is released: %s',
      async (kind) => {
        const { app, testing } = await start();
        const locks = {
          lock: () => app.get(LockService).get('a'),
          fair: () => app.get(FairLockService).get('a'),
          read: () => app.get(ReadWriteLockService).get('a').write,
          write: () => app.get(ReadWriteLockService).get('a').read,
          red: () => app.get(RedLockService).get('a'),
        };
        const lock = locks[kind]();
        const lease = await testing.holdElsewhere('a', { kind });
        expect(await lock.tryAcquire()).toBeNull();
        const waiting = watch(lock.acquire({ waitTimeMs: Infinity }));
        await testing.clock.advance(120_000);
        expect(waiting.state).toBe('pending');
        lease.assertHeld();
        await lease.release();
        await (await waiting.promise).release();
      },
    );

    it('takes permits of a semaphore: all that are free, or so many', async () => {
      const { app, testing } = await start();
      const semaphore = app.get(SemaphoreService).get('a');
      await semaphore.setPermits(5);
      await testing.holdElsewhere('a', { kind: 'semaphore', permits: 3 });
      expect(await semaphore.availablePermits()).toBe(2);
      const lease = await testing.holdElsewhere('a', { kind: 'semaphore' });
      expect(await semaphore.tryAcquire()).toBeNull();
      await lease.release();
      expect(await semaphore.tryAcquire({ permits: 2 })).not.toBeNull();
    });

    it('ends by itself with the lease that it is given', async () => {
      const { locks, testing } = await start();
      await testing.holdElsewhere('a', { leaseTimeMs: 2_000 });
      const waiting = watch(locks.acquire('a'));
      await testing.clock.advance(1_900);
      expect(waiting.state).toBe('pending');
      await testing.clock.advance(200);
      (await waiting.promise).assertHeld();
    });

    it.each<[object, string]>([
      [
        { ttl: 100 },
        'unknown option "ttl"; the options are kind, leaseTimeMs, permits, connection',
      ],
      [
        { kind: 'mutex' },
        'kind must be one of lock, fair, read, write, red, semaphore, not "mutex"',
      ],
      [{ permits: 2 }, "a lock has no permits; use the kind 'semaphore'"],
      [{ leaseTimeMs: '5' }, 'leaseTimeMs must be a whole number of milliseconds'],
      [{ kind: 'semaphore', permits: 0 }, 'permits must be a whole number'],
      [null as never, 'options must be an object, not null'],
      ['fair' as never, 'options must be an object, not "fair"'],
    ])('refuses %p', async (options, message) => {
      const { testing } = await start();
      const holding = testing.holdElsewhere('a', options);
      await expect(holding).rejects.toThrow(LockArgumentError);
      await expect(holding).rejects.toThrow(message);
      expect(testing.held()).toEqual([]);
    });

    it('says who has it already', async () => {
      const { locks, testing } = await start();
      await locks.acquire('a');
      await expect(testing.holdElsewhere('a')).rejects.toThrow(
        'No other process can hold "a" now; held: lock "a" by the application',
      );
      const options = { connection: 'cache' };
      await expect(testing.holdElsewhere('b', options)).rejects.toThrow(LockConfigurationError);
    });
  });

  describe('expireLease', () => {
    it('takes it from its holder, who knows at once, and lets the next one in', async () => {
      const { locks, testing } = await start();
      const lease = await locks.acquire('a');
      const { signal } = lease;
      const waiting = locks.acquire('a');
      testing.expireLease('a');
      expect(signal.reason).toBeInstanceOf(LeaseLostError);
      expect(signal.reason).toMatchObject({ reason: 'expired' });
      await expect(lease.release()).rejects.toThrow(LeaseLostError);
      (await waiting).assertHeld();
    });

    it('takes it from an owner that has it elsewhere', async () => {
      const { locks, testing } = await start();
      await testing.holdElsewhere('a');
      testing.expireLease('a');
      (await locks.acquire('a', { waitTimeMs: 0 })).assertHeld();
    });

    it.each(['read', 'write', 'fair', 'semaphore', 'red'] as const)(
      'ends a hold of each kind: %s',
      async (kind) => {
        const { app, testing } = await start();
        const semaphore = app.get(SemaphoreService).get('a');
        await semaphore.setPermits(1);
        const { read, write } = app.get(ReadWriteLockService).get('b');
        const fair = app.get(FairLockService).get('c');
        const red = app.get(RedLockService).get('d');
        const lock = { read, write, fair, semaphore, red }[kind];
        const lease = await lock.acquire();
        testing.expireLease(lease.name);
        expect(lease.state).toBe('lost');
        expect(await (kind === 'read' ? write : lock).tryAcquire()).not.toBeNull();
      },
    );

    it('is no release, such as failNext makes fail', async () => {
      const { locks, testing } = await start();
      await locks.acquire('a');
      testing.failNext('release');
      testing.expireLease('a');
      const next = await locks.acquire('a', { waitTimeMs: 0 });
      await expect(next.release()).rejects.toThrow(LockBackendError);
    });

    it('is an error where nothing is held', async () => {
      const { testing } = await start();
      expect(() => {
        testing.expireLease('a');
      }).toThrow('"a" is not held; nothing is held');
    });
  });

  describe('failNext', () => {
    it('makes one attempt to get something fail, of any kind', async () => {
      const { app, locks, testing } = await start();
      const { read, write } = app.get(ReadWriteLockService).get('b');
      const semaphore = app.get(SemaphoreService).get('c');
      const counting = app.get(SemaphoreService).counting('d');
      const fair = app.get(FairLockService).get('e');
      await semaphore.setPermits(1);
      await counting.trySetPermits(1);
      const attempts = [locks.get('a'), fair, read, write, semaphore, counting];
      for (const one of attempts) {
        testing.failNext('acquire');
        await expect(one.acquire()).rejects.toBeInstanceOf(LockBackendError);
        expect(testing.held()).toEqual([]);
        const lease = await one.acquire();
        if (lease !== undefined) await lease.release();
      }
    });

    it('rejects with the error that it is given, of each operation its own', async () => {
      const { locks, testing } = await start();
      const error = new Error('READONLY');
      testing.failNext('release', error);
      testing.failNext('acquire');
      await expect(locks.acquire('a')).rejects.toMatchObject({
        message: 'Lock "a": A test made this acquire fail',
        outcome: 'none',
      });
      const lease = await locks.acquire('a');
      await expect(lease.release()).rejects.toBe(error);
      expect(() => {
        testing.failNext('look' as never);
      }).toThrow('failNext needs one of acquire, release, renew, not "look"');
    });

    it('masks no result when it is the release, which is made up for', async () => {
      const { locks, testing } = await start();
      testing.failNext('release');
      expect(await locks.using('a', () => 'done')).toBe('done');
      await testing.clock.advance(1_000);
      (await locks.acquire('a', { waitTimeMs: 0 })).assertHeld();
    });

    it('makes a lease suspect when it is the renewal, until the next one', async () => {
      const events: LockEvent[] = [];
      const { locks, testing } = await start({ observer: { observe: (e) => events.push(e) } });
      const lease = await locks.acquire('a');
      testing.failNext('renew');
      for (let i = 0; i < 20 && lease.state === 'held'; i += 1) await testing.clock.advance(1_000);
      expect(lease.state).toBe('suspect');
      await testing.clock.advance(10_000);
      expect(lease.state).toBe('held');
      const told = events.map(({ type }) => type);
      expect(told).toEqual(expect.arrayContaining(['renewal-failed', 'suspect', 'recovered']));
    });

    it('does not concern an owner that holds something elsewhere', async () => {
      const { locks, testing } = await start();
      testing.failNext('acquire');
      await (await testing.holdElsewhere('a')).release();
      await expect(locks.acquire('a')).rejects.toThrow(LockBackendError);
    });
  });
});

describe('the manual clock', () => {
  it('renews what is held for as long as it takes, and ends what has a lease of its own', async () => {
    const { locks, testing } = await start();
    const [watched, fixed] = [
      await locks.acquire('a'),
      await locks.acquire('b', { leaseTimeMs: 900 }),
    ];
    const { signal } = fixed;
    await testing.clock.advance(899);
    expect(signal.aborted).toBe(true);
    await testing.clock.advance(3_600_000);
    watched.assertHeld();
  });

  it('lets what is due happen in its order, and what follows from it', async () => {
    const { locks, testing } = await start();
    await testing.holdElsewhere('a');
    const order: string[] = [];
    const calls = [300, 100, 200].map((waitTimeMs) =>
      locks.acquire('a', { waitTimeMs }).catch(() => order.push(`${waitTimeMs}`)),
    );
    const [, second] = [testing.clock.advance(150), testing.clock.advance(100)];
    await second;
    expect(order).toEqual(['100', '200']);
    await testing.clock.advance(50);
    await Promise.all(calls);
    expect(order).toEqual(['100', '200', '300']);
    expect(testing.clock.now()).toBe(300);
  });

  it.each([-1, NaN, Infinity, '5'])('does not go on for %p', async (ms) => {
    const { testing } = await start();
    await expect(testing.clock.advance(ms as number)).rejects.toMatchObject({
      code: 'LOCK_ARGUMENT',
    });
  });

  it('is not there where the system has the clock', async () => {
    const { locks, testing } = await start({ clock: 'system' });
    expect(() => testing.clock).toThrow(LockConfigurationError);
    await testing.holdElsewhere('a');
    const sinceThen = performance.now();
    await expect(locks.acquire('a', { waitTimeMs: 30 })).rejects.toThrow(LockTimeoutError);
    expect(performance.now() - sinceThen).toBeGreaterThan(29);
  });

  it('arms no timer: a caller that forgets to close keeps nothing alive', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    const { locks, testing } = await start();
    await locks.acquire('a');
    const waiting = locks.acquire('a', { waitTimeMs: Infinity });
    await testing.holdElsewhere('b');
    await testing.clock.advance(5_000);
    expect(timers()).toBeLessThanOrEqual(before);
    waiting.catch(() => undefined);
  });

  it('keeps no process alive either where the system has the clock and no caller waits', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    const { locks } = await start({ clock: 'system' });
    const lease = await locks.acquire('a');
    expect(timers()).toBeLessThanOrEqual(before);
    await lease.release();
  });
});

describe('close', () => {
  it('sends waiters away, and gives holders their time, which no test has to wait for', async () => {
    const { app, locks, testing } = await start();
    const lease = await locks.acquire('a');
    const { signal } = lease;
    const waiting = watch(locks.acquire('a', { waitTimeMs: Infinity }));
    const elsewhere = await testing.holdElsewhere('b');
    await app.close();
    await expect(waiting.promise).rejects.toThrow(LockShutdownError);
    expect(signal.reason).toMatchObject({ reason: 'shutdown' });
    expect(elsewhere.state).toBe('lost');
    expect(testing.held()).toEqual([]);
  });
});

describe('the fake timers of Jest', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('change nothing for the manual clock', async () => {
    jest.useFakeTimers();
    const { locks, testing } = await start();
    const lease = await testing.holdElsewhere('a');
    const refused = expect(locks.acquire('a', { waitTimeMs: 2_000 })).rejects.toThrow(
      LockTimeoutError,
    );
    await testing.clock.advance(2_000);
    await refused;
    const waiting = locks.acquire('a');
    await testing.clock.advance(500);
    await lease.release();
    (await waiting).assertHeld();
  });

  it('are the clock, if the system has it', async () => {
    jest.useFakeTimers();
    const { locks, testing } = await start({ clock: 'system' });
    const lease = await testing.holdElsewhere('a');
    const refused = expect(locks.acquire('a', { waitTimeMs: 2_000 })).rejects.toThrow(
      LockTimeoutError,
    );
    await jest.advanceTimersByTimeAsync(2_001);
    await refused;
    const waiting = locks.acquire('a');
    await jest.advanceTimersByTimeAsync(500);
    await lease.release();
    await (await waiting).release();
  });
});

describe('a job that runs at most once in so long', () => {
  it('is done again when the time is over', async () => {
    @Injectable()
    class Reports {
      runs = 0;
      @CronLock('report', { atLeastMs: 60_000, atMostMs: 120_000 })
      async report() {
        this.runs += 1;
      }
    }
    const { service, testing } = await provided(Reports);
    await service.report();
    await testing.clock.advance(59_000);
    await service.report();
    expect(service.runs).toBe(1);
    await testing.clock.advance(1_001);
    await service.report();
    expect(service.runs).toBe(2);
  });

  it('is done once in each slot, by the clock of the test', async () => {
    @Injectable()
    class Reports {
      runs = 0;
      @CronLock('report', { per: 'minute' })
      async report() {
        this.runs += 1;
      }
    }
    const { service, testing } = await provided(Reports);
    await service.report();
    await service.report();
    expect(service.runs).toBe(1);
    await testing.clock.advance(60_000);
    await service.report();
    await service.report();
    expect(service.runs).toBe(2);
  });
});
