import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  UseFilters,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { hostname } from 'node:os';
import {
  FairLockService,
  FencingGuard,
  getLockServiceToken,
  InjectLock,
  InjectLockService,
  LatchService,
  LockConfigurationError,
  LockExceptionFilter,
  LockKeyError,
  LockMonitor,
  LockTimeoutError,
  LockService,
  ReadWriteLockService,
  RedisLockModule,
  RedLockService,
  SemaphoreService,
  WithLock,
  type LockTemplate,
  type LockTemplateOptions,
} from 'nestjs-redis-lock';
import { useRedis } from '../support/redis-server.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

@Module({})
class App {}

const cache = () =>
  RedisLockModule.forRoot({ name: 'cache', connection: redis.connection, keyPrefix: 'cache:' });

async function refused(starting: () => unknown): Promise<string> {
  let error: unknown;
  try {
    await starting();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(LockConfigurationError);
  return (error as Error).message;
}

const create = (metadata: ModuleMetadata) =>
  NestFactory.create({ module: App, ...metadata }, SILENT);

describe('several connections', () => {
  @Injectable()
  class Stock {
    constructor(
      readonly locks: LockService,
      @InjectLockService(LockService) readonly sameLocks: LockService,
      @InjectLockService(LockService, 'cache') readonly cacheLocks: LockService,
      @InjectLockService(FairLockService, 'cache') readonly cacheFairLocks: FairLockService,
    ) {}

    @WithLock('job', { connection: 'cache' })
    async inCache(): Promise<string[]> {
      return redis.keys();
    }

    @WithLock('job', { kind: 'fair', connection: 'cache' })
    async fairInCache(): Promise<string[]> {
      return redis.keys();
    }

    @WithLock('job')
    async inDefault(): Promise<string[]> {
      return redis.keys();
    }

    @WithLock('job', { connection: 'cache' })
    @WithLock('job')
    async inBoth(): Promise<string[]> {
      return (await redis.keys()).sort();
    }
  }

  @Controller()
  @UseFilters(LockExceptionFilter)
  class Web {
    @Get('/keys/:id')
    @WithLock('<params.id>', { via: 'interceptor', connection: 'cache', waitTimeMs: 0 })
    async keys(@Param('id') id: string): Promise<string[]> {
      return redis.admin.keys(`*${id}*`);
    }
  }

  it('have services, decorators and interceptors of their own', async () => {
    const app = await apps.start({
      imports: [cache()],
      providers: [Stock],
      controllers: [Web],
    });
    const stock = app.nest.get(Stock);
    expect(stock.sameLocks).toBe(stock.locks);
    expect(stock.cacheLocks).not.toBe(stock.locks);
    expect(stock.cacheFairLocks).toBeInstanceOf(FairLockService);
    expect(await stock.inDefault()).toEqual(['job']);
    expect(await stock.inCache()).toEqual(['cache:job']);
    expect(await stock.fairInCache()).toEqual(['cache:job']);
    expect(await stock.inBoth()).toEqual(['cache:job', 'job']);
    expect(await (await app.request('/keys/x')).json()).toEqual(['cache:x']);
    await stock.cacheLocks.using('x', async () => {
      expect((await app.request('/keys/x')).status).toBe(423);
    });
  });

  it('are never one owner, also for one key', async () => {
    const same = RedisLockModule.forRoot({ name: 'cache', connection: redis.connection });
    const app = await apps.start({ imports: [same], providers: [Stock] });
    const { locks, cacheLocks } = app.nest.get(Stock);
    await locks.using('a', async () => {
      expect(await cacheLocks.tryAcquire('a')).toBeNull();
    });
  });

  it('give a token for every service, which is the class for the default', async () => {
    const app = await apps.start({ imports: [cache()] });
    const services = [
      ...[LockService, FairLockService, ReadWriteLockService, SemaphoreService, LatchService],
      ...[RedLockService, FencingGuard, LockMonitor],
    ];
    for (const Service of services) {
      expect(getLockServiceToken<unknown>(Service)).toBe(Service);
      const [ours, theirs] = [
        app.nest.get<unknown>(getLockServiceToken<unknown>(Service)),
        app.nest.get<unknown>(getLockServiceToken<unknown>(Service, 'cache')),
      ];
      expect(ours).toBeInstanceOf(Service);
      expect(theirs).toBeInstanceOf(Service);
      expect(theirs).not.toBe(ours);
    }
  });

  it.each([
    [
      Stock,
      'getLockServiceToken(): the first argument must be one of LockService, FairLockService,',
    ],
    ['LockService', 'not "LockService"'],
    [undefined, 'not undefined'],
  ])('give no token for %p', async (Service, problem) => {
    expect(await refused(() => getLockServiceToken(Service as never))).toContain(problem);
    expect(await refused(() => InjectLockService(Service as never))).toContain(problem);
  });

  it('are shut down together', async () => {
    const shutdownTimeoutMs = 300;
    const names = ['one', 'two', 'three', 'four', 'five'];
    const imports = names.map((name) =>
      RedisLockModule.forRoot({
        ...{ name, keyPrefix: `${name}:`, connection: redis.connection, shutdownTimeoutMs },
      }),
    );
    const app = await apps.start({ imports }, { shutdownTimeoutMs });
    const leases = await Promise.all(
      [undefined, ...names].map((name) =>
        app.nest.get<LockService>(getLockServiceToken(LockService, name)).acquire('a'),
      ),
    );
    const closedAt = performance.now();
    await app.nest.close();
    expect(performance.now() - closedAt).toBeLessThan(5 * shutdownTimeoutMs);
    expect(leases.map(({ state }) => state)).toEqual(leases.map(() => 'lost'));
    expect(await redis.keys()).toEqual([]);
  });

  it('say on the event channel which of them it is', async () => {
    const heard: unknown[] = [];
    const listen = (message: unknown) => heard.push(message);
    subscribe('nestjs-redis-lock:event', listen);
    try {
      const app = await apps.start({ imports: [cache()], providers: [Stock] });
      await app.nest.get(Stock).inCache();
    } finally {
      unsubscribe('nestjs-redis-lock:event', listen);
    }
    const of = { connection: 'cache', name: 'job', kind: 'lock', label: 'job' };
    const client = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}$/) as unknown;
    const opened = { type: 'opened', clients: [client], host: hostname(), pid: process.pid };
    expect(heard).toMatchObject([
      { ...opened, connection: 'default' },
      { ...opened, connection: 'cache' },
      { ...of, type: 'acquired' },
      { ...of, type: 'released' },
    ]);
    expect(JSON.stringify(heard)).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  it('are refused at boot when two have one name, naming both places', async () => {
    const twice = [cache(), cache()];
    const message = await refused(() => create({ imports: [...twice] }));
    expect(message).toContain('"cache"');
    expect(message.match(/connections\.spec\.ts:\d+:\d+/g)).toHaveLength(2);
    const unnamed = [
      RedisLockModule.forRoot(),
      RedisLockModule.forRootAsync({ useFactory: () => ({}) }),
    ];
    expect(await refused(() => create({ imports: [...unnamed] }))).toContain('without a name');
    const late = RedisLockModule.forRootAsync({
      name: 'late',
      useFactory: () => ({ connection: redis.connection }),
    });
    const app = await apps.add(await create({ imports: [late] }));
    expect(app.nest.get(getLockServiceToken(LockService, 'late'))).toBeInstanceOf(LockService);
  });

  it.each([5, '', 'two words', null, {}, 'x'.repeat(101)])('cannot be called %p', async (name) => {
    const message = await refused(() => RedisLockModule.forRoot({ name: name as string }));
    expect(message).toContain('name must consist of');
  });

  it('are refused at boot when a factory names them, or a decorator has a wrong name', async () => {
    const late = { useFactory: () => ({ name: 'cache' }) as object };
    const message = await refused(() => create({ imports: [RedisLockModule.forRootAsync(late)] }));
    expect(message).toContain('must not return name');
    expect(
      await refused(() => {
        class Wrong {
          @WithLock('a', { connection: 7 as never })
          async run(): Promise<void> {
            // Never called.
          }
        }
        return Wrong;
      }),
    ).toContain('connection must be the name of a connection');
  });

  it('are refused at boot when they are not set up, with the fix in the message', async () => {
    const starting = create({
      imports: [RedisLockModule.forRoot({ connection: redis.connection })],
      providers: [Stock],
    });
    await expect(starting).rejects.toThrow("RedisLockModule.forRoot({ name: 'cache' })");
  });
});

describe('lock templates', () => {
  @Injectable()
  class Orders {
    constructor(
      @InjectLock('orders') readonly orders: LockTemplate<'order:<id>:<user.name>'>,
      @InjectLock('gates', 'cache') readonly gates: LockTemplate<'gate', 'semaphore'>,
    ) {}
  }

  const templates: LockTemplateOptions[] = [
    { name: 'orders', kind: 'fair', key: 'order:<id>:<user.name>', waitTimeMs: 0 },
    { name: 'gates', kind: 'semaphore', key: 'gate', connection: 'cache', capacity: 1 },
  ];

  const start = async () => {
    const feature = { module: App, imports: [RedisLockModule.forFeature(templates)] };
    const app = await apps.start({
      imports: [cache(), RedisLockModule.forFeature(templates), feature],
      providers: [Orders],
    });
    return app.nest.get(Orders);
  };

  it('give locks by values, with the options of the template and of the call', async () => {
    const { orders, gates } = await start();
    const lock = orders.get({ id: 7, user: { name: 'A{n}n' } });
    expect(lock.name).toBe('order:7:A%7Bn%7Dn');
    const order = { id: 7, user: { name: 'A{n}n', age: 40 }, pieces: 2 };
    expect(orders.get(order).name).toBe(lock.name);
    await lock.using(async (lease) => {
      expect(lease.name).toBe(lock.name);
      expect(await lock.isLocked()).toBe(true);
    });
    await using lease = await lock.acquire({ leaseTimeMs: 1_000 });
    expect(lease.remainingMs).toBeLessThanOrEqual(1_000);
    const gate = gates.get({});
    await gate.using(async () => {
      expect(await redis.admin.keys('*gate*')).not.toEqual([]);
      expect(await gate.tryAcquire()).toBeNull();
    });
    await redis.admin.del(...(await redis.admin.keys('*gate*')));
  });

  it('mean by an undefined option what the template says', async () => {
    const { orders } = await start();
    const lock = orders.get({ id: 8, user: { name: 'Ann' } });
    const undefinedOptions = { waitTimeMs: undefined, leaseTimeMs: undefined, signal: undefined };
    await using held = await lock.acquire(undefinedOptions);
    // Its waitTimeMs is 0; the module's is 10 s.
    const refusal: unknown = await lock.acquire(undefinedOptions).catch((e: unknown) => e);
    expect(refusal).toBeInstanceOf(LockTimeoutError);
    expect((refusal as LockTimeoutError).waitedMs).toBeLessThan(10_000);
    expect(held.remainingMs).toBeGreaterThan(20_000);
  });

  it.each([
    null,
    5,
    [],
    true,
    'x',
    new Map(),
    Promise.resolve({}),
    AbortSignal.timeout(1),
    { a: 1 },
  ])('refuse %p as the options of a call, and send nothing', async (options) => {
    const { orders, gates } = await start();
    const lock = orders.get({ id: 9, user: { name: 'Ann' } });
    await lock.isLocked();
    const sent = await redis.commandsDuring(async () => {
      for (const one of [lock, gates.get({})]) {
        const given = options as never;
        const calls = [one.acquire(given), one.tryAcquire(given), one.using(() => 1, given)];
        for (const settled of await Promise.allSettled<unknown>(calls)) {
          expect(settled).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_ARGUMENT' } });
        }
      }
    });
    expect(sent).toEqual({});
  });

  it('take what they need from an object that has more', async () => {
    const { orders } = await start();
    const order = { id: 7, user: { name: 'Ann', age: 41 }, lines: [] };
    expect(orders.get(order).name).toBe('order:7:Ann');
  });

  it('have the types of their values', async () => {
    const { orders, gates } = await start();
    // @ts-expect-error -- the name of the user is missing
    expect(() => orders.get({ id: 7 })).toThrow(LockKeyError);
    // @ts-expect-error -- an object is no value
    expect(() => orders.get({ id: {}, user: { name: 'x' } })).toThrow(LockKeyError);
    // @ts-expect-error -- a semaphore is no lock
    expect(gates.get({}).isLocked).toBeUndefined();
    const loose: LockTemplate = orders;
    expect(() => loose.get({})).toThrow('no own property "id"');
  });

  it.each<[string, unknown]>([
    ['needs a list', {}],
    ['needs a name', [{ key: 'a' }]],
    ['must be a plain object', [null]],
    ['must be a plain object', [new Map([['name', 'a']])]],
    ['must be a plain object', new Array(1)],
    ['must be a text', [{ name: 'a' }]],
    ['never closed', [{ name: 'a', key: 'b<c' }]],
    ['must not be empty', [{ name: 'a', key: '' }]],
    ['write "order:<id>"', [{ name: 'a', key: 'order:{id}' }]],
    ['write "order_<id>"', [{ name: 'a', key: 'order_:id' }]],
    ['ends with white space', [{ name: 'a', key: 'order ' }]],
    ['kind must be one of', [{ name: 'a', key: 'b', kind: 'none' }]],
    ['unknown option', [{ name: 'a', key: 'b', waitMs: 5 }]],
    ['waitTimeMs must be', [{ name: 'a', key: 'b', waitTimeMs: -1 }]],
    ['must not have onBusy, onBackendError', [{ name: 'a', key: 'b', onBusy: 'skip' }]],
    ['onBackendError, onDisconnect, via', [{ name: 'a', key: 'b', onBackendError: 'run' }]],
    ['connection must be', [{ name: 'a', key: 'b', connection: 7 }]],
  ])('are refused when the module is defined: %s', async (text, given) => {
    expect(await refused(() => RedisLockModule.forFeature(given as never))).toContain(text);
  });

  it('are refused at boot when two have one name', async () => {
    const one = RedisLockModule.forFeature([{ name: 'a', key: 'a:<id>' }]);
    const other = RedisLockModule.forFeature([{ name: 'a', key: 'b:<id>' }]);
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    const message = await refused(() => create({ imports: [locks, one, other] }));
    expect(message).toContain('"a:<id>" and "b:<id>"');
  });
});

afterEach(() => redis.admin.flushall());
