import { describe, expect, it, jest } from '@jest/globals';
import {
  Inject,
  Injectable,
  Logger,
  Module,
  type DynamicModule,
  type ModuleMetadata,
  type OnModuleInit,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  LockConfigurationError,
  LockService,
  LockShutdownError,
  RedisLockModule,
  WithLock,
  type LockEvent,
  type RedisLockModuleAsyncOptions,
  type RedisLockOptions,
  type RedisLockOptionsFactory,
} from 'nestjs-redis-lock';
import { eventually, useRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

@Module({})
class App {}

@Injectable()
class Jobs {
  @WithLock('job')
  async run(): Promise<string> {
    return 'ran';
  }
}

/** As the client of another package, which knows other commands. */
const create = (metadata: ModuleMetadata) =>
  NestFactory.create({ module: App, ...metadata }, SILENT);

const start = async (locks: DynamicModule, metadata: ModuleMetadata = {}) =>
  apps.add(await create({ ...metadata, imports: [locks, ...(metadata.imports ?? [])] }));

/** Options as they come from JavaScript, or from the environment. */
const loose = (options: unknown) => RedisLockModule.forRoot(options as RedisLockOptions);
const looseAsync = (options: unknown) =>
  RedisLockModule.forRootAsync(options as RedisLockModuleAsyncOptions);

const fails = async (thrown: Error) => Promise.reject(thrown);

async function refused(starting: Promise<unknown>, ...texts: string[]): Promise<void> {
  const error: unknown = await starting.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LockConfigurationError);
  for (const text of texts) expect((error as Error).message).toContain(text);
}

describe('RedisLockModule.forRoot', () => {
  it('provides LockService everywhere, with the options it was given', async () => {
    const events: LockEvent[] = [];
    const observer = { observe: (event: LockEvent) => events.push(event) };
    @Module({ providers: [Jobs] })
    class Feature {}
    const options = {
      connection: redis.connection,
      keyPrefix: 'shop:',
      watchdogLeaseMs: 5_000,
      observer,
    };
    const app = await start(RedisLockModule.forRoot(options), { imports: [Feature] });
    expect(await app.nest.get(Jobs, { strict: false }).run()).toBe('ran');
    await using lease = await app.locks.acquire('x');
    expect(lease.state).toBe('held');
    expect(await redis.keys()).toEqual(['shop:x']);
    expect(await redis.admin.pttl('shop:x')).toBeLessThanOrEqual(5_000);
    const types = ['opened', 'acquired', 'released', 'acquired'];
    expect(events.map(({ type }) => type)).toEqual(types);
  });

  it('is not global when told so', async () => {
    const locks = RedisLockModule.forRoot({ connection: redis.connection, isGlobal: false });
    @Module({ providers: [Jobs] })
    class Elsewhere {}
    await expect(create({ imports: [locks, Elsewhere] })).rejects.toThrow('LockService');
    @Module({ imports: [locks], providers: [Jobs] })
    class Feature {}
    const app = await apps.add(await create({ imports: [Feature] }));
    expect(await app.nest.get(Jobs, { strict: false }).run()).toBe('ran');
  });

  it('is one in all modules that import the same', async () => {
    const locks = RedisLockModule.forRoot({ connection: redis.connection, isGlobal: false });
    @Module({ imports: [locks], providers: [Jobs] })
    class Feature {}
    @Module({ imports: [locks] })
    class Other {}
    const app = await apps.add(await create({ imports: [Feature, Other] }));
    const [one, two] = [Feature, Other].map((of) => app.nest.select(of).get(LockService));
    expect(one).toBe(two);
  });

  it('takes ioredis options', async () => {
    const connection = { host: '127.0.0.1', port: redis.port, connectionName: 'ours' };
    const app = await start(RedisLockModule.forRoot({ connection }));
    await app.locks.using('x', async () => {
      expect(await redis.clients()).toEqual(['ours']);
    });
  });

  it('takes a client, and never closes it', async () => {
    const client = new Redis(redis.url, { connectionName: 'theirs' });
    try {
      const app = await start(RedisLockModule.forRoot({ connection: client }));
      await app.locks.using('x', () => undefined);
      await app.nest.close();
      expect(await client.ping()).toBe('PONG');
      expect(await redis.clients()).toEqual(['theirs']);
      expect(client.listenerCount('ready')).toBe(0);
    } finally {
      client.disconnect();
    }
    await eventually(async () => (await redis.clients()).length === 0);
  });

  it('can be replaced in a test', async () => {
    const using = () => Promise.resolve('replaced');
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    const testing = await Test.createTestingModule({ imports: [locks], providers: [Jobs] })
      .overrideProvider(LockService)
      .useValue({ using })
      .compile();
    expect(await testing.get(Jobs).run()).toBe('replaced');
    await testing.close();
    expect(await redis.clients()).toEqual([]);
  });
});

describe('RedisLockModule.forRootAsync', () => {
  @Injectable()
  class Config {
    readonly url = redis.url;
  }

  @Module({ providers: [Config], exports: [Config] })
  class ConfigModule {}

  @Injectable()
  class LockOptions implements RedisLockOptionsFactory {
    constructor(@Inject(Config) private readonly config: Config) {}

    createRedisLockOptions(): RedisLockOptions {
      return { connection: this.config.url, keyPrefix: 'class:' };
    }
  }

  @Module({ imports: [ConfigModule], providers: [LockOptions], exports: [LockOptions] })
  class OptionsModule {}

  const variants: [string, () => RedisLockModuleAsyncOptions, string][] = [
    ['useFactory', () => ({ useFactory: () => ({ connection: redis.connection }) }), 'job'],
    [
      'useFactory with imports and inject',
      () => ({
        imports: [ConfigModule],
        inject: [Config],
        useFactory: async (config: Config) => {
          await Promise.resolve();
          return { connection: config.url, keyPrefix: 'factory:' };
        },
      }),
      'factory:job',
    ],
    [
      'useFactory with a provider of its own',
      () => ({
        extraProviders: [Config],
        inject: [Config],
        useFactory: ({ url }: Config) => ({ connection: url, keyPrefix: 'extra:' }),
      }),
      'extra:job',
    ],
    ['useClass', () => ({ imports: [ConfigModule], useClass: LockOptions }), 'class:job'],
    ['useExisting', () => ({ imports: [OptionsModule], useExisting: LockOptions }), 'class:job'],
  ];

  it.each(variants)('takes its options from %s', async (_, options, key) => {
    const app = await start(RedisLockModule.forRootAsync(options()), { providers: [Jobs] });
    expect(await app.nest.get(Jobs).run()).toBe('ran');
    await using lease = await app.locks.acquire('job');
    expect([lease.state, await redis.keys()]).toEqual(['held', [key]]);
  });

  it('is not global when told so', async () => {
    const useFactory = () => ({ connection: redis.connection });
    const locks = RedisLockModule.forRootAsync({ isGlobal: false, useFactory });
    @Module({ providers: [Jobs] })
    class Elsewhere {}
    await expect(create({ imports: [locks, Elsewhere] })).rejects.toThrow('LockService');
  });

  it.each([
    [undefined, 'the options must be a plain object'],
    [{}, 'needs exactly one of useFactory, useClass, useExisting; it has none of them'],
    [
      { useFactory: () => ({}), useClass: App },
      'needs exactly one of useFactory, useClass, useExisting; it has useFactory and useClass',
    ],
    [{ useFactory: () => ({}), keyPrefix: 'x' }, 'unknown option "keyPrefix"; the options are imp'],
    [{ useFactory: () => ({}), logAcquisitions: true }, 'unknown option "logAcquisitions"'],
    [{ useFactory: () => ({}), isGlobal: 'yes' }, 'isGlobal must be true or false, not "yes"'],
    [{ useFactory: 5 }, 'useFactory must be a function, not 5'],
    [{ useFactory: {} }, 'useFactory must be a function, not an object'],
    [{ useClass: 5 }, 'useClass must be a class, not 5'],
    [{ useExisting: 'Options' }, 'useExisting must be a class, not "Options"'],
    [{ useFactory: () => ({}), imports: 5 }, 'imports must be a list of modules, not 5'],
    [{ useFactory: () => ({}), extraProviders: {} }, 'extraProviders must be a list of providers'],
    [
      { useFactory: () => ({}), inject: 'a' },
      'inject must be a list of the parameters of useFactory',
    ],
    [new Map([['useFactory', () => ({})]]), 'must be a plain object, such as'],
  ])('refuses %p at once', (options, reason) => {
    expect(() => looseAsync(options)).toThrow(LockConfigurationError);
    expect(() => looseAsync(options)).toThrow(`RedisLockModule.forRootAsync()`);
    expect(() => looseAsync(options)).toThrow(reason);
  });

  it('tells that its factory returned nothing, said isGlobal, or failed', async () => {
    const factory = (useFactory: () => unknown) =>
      create({ imports: [looseAsync({ useFactory })] });
    const from = 'The factory of RedisLockModule.forRootAsync()';
    await refused(
      factory(() => undefined),
      `${from}: the options must be a plain object, such as { connection: 'redis://…' }, not undefined`,
    );
    await refused(
      factory(() => ({ isGlobal: true })),
      `${from} must not return isGlobal`,
    );
    await refused(
      factory(() => ({ wait: 1 })),
      `${from}: unknown option "wait"; the options are connection, keyPrefix`,
    );
    const cause = new Error('cannot read redis://user:s3cret@db/0');
    const failing = factory(() => Promise.reject(cause));
    await refused(failing, `${from} failed: cannot read redis://…@db/0`);
    await expect(failing).rejects.toMatchObject({ cause });
    await refused(create({ imports: [looseAsync({ useClass: App })] }), `${from} failed`);
  });

  it.each<[string, unknown, string]>([
    ['an object without a prototype', Object.create(null), 'an object'],
    ['a text', 'no vault', 'no vault'],
    ['nothing', undefined, 'undefined'],
    ['a symbol', Symbol('x'), 'a symbol'],
    ['a message that is none', { message: {} }, 'an object'],
  ])('says what its factory has thrown: %s', async (_, thrown, said) => {
    const useFactory = () => fails(thrown as Error);
    const starting = create({ imports: [looseAsync({ useFactory })] });
    await refused(starting, `The factory of RedisLockModule.forRootAsync() failed: ${said}`);
  });

  it('says so of what cannot even be asked: a revoked proxy', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(() => looseAsync(proxy)).toThrow('must be a plain object, such as');
    const from = 'The factory of RedisLockModule.forRootAsync()';
    const reject = () => fails(proxy as Error);
    await refused(create({ imports: [looseAsync({ useFactory: reject })] }), `${from} failed`);
    for (const options of [proxy, { observer: proxy }, { connection: proxy }, { redLock: proxy }]) {
      await refused(create({ imports: [loose(options)] }), 'must be');
    }
  });

  it('says after 10 s that its factory has not settled, and starts when it has', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    let settle: (options: object) => void = () => undefined;
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    try {
      let starting: ReturnType<typeof create> | undefined;
      await new Promise<void>((isAsked) => {
        const useFactory = () =>
          new Promise((resolve) => {
            settle = resolve;
            isAsked();
          });
        starting = create({ imports: [looseAsync({ useFactory })] });
      });
      jest.advanceTimersByTime(9_999);
      expect(warn).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1);
      expect(warn.mock.calls).toEqual([[expect.stringContaining('has not settled after 10 s')]]);
      jest.useRealTimers();
      settle({ connection: redis.connection });
      await (await starting)?.close();
    } finally {
      jest.useRealTimers();
      warn.mockRestore();
    }
  });
});

describe('an application does not start', () => {
  it.each([
    ['redis://:s3cret@host', 'the options must be a plain object'],
    [[], 'the options must be a plain object'],
    [new Map([['connection', 'redis://host']]), 'the options must be a plain object'],
    [Promise.resolve({}), 'the options must be a plain object'],
    [{ [Symbol('connection')]: 'x' }, 'unknown option a symbol'],
    [{ redLock: new Map() }, 'redLock must be a plain object with nodes, not a Map'],
    [{ observer: null }, 'observer must be an object with a method observe(event), not null'],
    [{ isGlobal: 1 }, 'isGlobal must be true or false, not 1'],
    [{ logAcquisitions: 'yes' }, 'logAcquisitions must be true or false, not "yes"'],
    [{ connection: '' }, 'it is empty'],
    [{ connection: 's3cret' }, 'connection must be a url that begins with redis://'],
    [{ connection: 'http://user:s3cret@host' }, 'connection must be a url that begins with'],
    [{ connection: 'redis://user:s3cret@host:port' }, 'connection must be a url that begins'],
    [{ connection: Promise.resolve() }, 'connection must be'],
    [{ keyPrefix: 5 }, 'keyPrefix must be a string, not 5'],
    [{ keyPrefix: 'a b\n' }, 'keyPrefix'],
    [{ keyPrefix: '{' }, 'keyPrefix'],
    [{ watchdogLeaseMs: 5 }, 'watchdogLeaseMs must be a whole number of milliseconds from 100'],
    [{ watchdogLeaseMs: '30s' }, 'watchdogLeaseMs must be a whole number of milliseconds'],
    [{ watchdogLeaseMs: Infinity }, 'watchdogLeaseMs must be'],
    [{ waitTimeMs: -1 }, 'waitTimeMs must be'],
    [{ waitTimeMs: NaN }, 'waitTimeMs must be'],
    [{ leaseTimeMs: 5_000 }, 'watchdogLeaseMs is the lease that the watchdog renews'],
    [{ pollIntervalMs: 50 }, 'pollIntervalMs belongs under tuning: { pollIntervalMs: … }'],
    [{ claimTimeMs: 500 }, 'claimTimeMs belongs under tuning'],
    [{ wakeUp: 'poll' }, 'wakeUp belongs under tuning'],
    [{ publish: 'plain' }, 'publish belongs under tuning'],
    [{ interop: 'none' }, 'interop belongs under tuning'],
    [{ fairLockWaitTimeMs: 5 }, 'fairLockWaitTimeMs belongs under tuning'],
    [{ tuning: 'poll' }, 'tuning must be a plain object'],
    [{ tuning: { poll: 5 } }, 'tuning: unknown option "poll"; the options are pollIntervalMs'],
    [{ tuning: { pollIntervalMs: 0 } }, 'tuning.pollIntervalMs must be'],
    [{ tuning: { wakeUp: 'never' } }, "tuning.wakeUp must be 'message' or 'poll', not \"never\""],
    [{ tuning: { publish: null } }, "tuning.publish must be 'auto', 'plain', 'sharded' or 'both'"],
    [{ tuning: { publish: 'PLAIN' } }, 'tuning.publish must be'],
    [{ shutdownTimeoutMs: 1.5 }, 'shutdownTimeoutMs must be'],
    [{ maxWaitersPerKey: 0 }, 'maxWaitersPerKey must be a whole number from 1 to 1000000, not 0'],
    [{ maxKeys: Infinity }, 'maxKeys must be a whole number from 1 to 10000000, not Infinity'],
    [{ observer: () => undefined }, 'observer must be an object with a method observe(event)'],
  ])('with %p', async (options, reason) => {
    const starting = create({ imports: [loose(options)] });
    await refused(starting, reason);
    await expect(starting).rejects.not.toThrow('s3cret');
    expect(await redis.clients()).toEqual([]);
  });

  it('with two sets of options, in whatever modules, since both could get in', async () => {
    const [one, two] = [
      RedisLockModule.forRoot({ connection: redis.connection }),
      RedisLockModule.forRoot({ connection: redis.connection, isGlobal: false }),
    ];
    @Module({ imports: [two] })
    class Feature {}
    await refused(create({ imports: [one, Feature] }), 'is set up twice', 'root module');
  });
});

describe('an application that does not come up', () => {
  it('opens no connection when a provider cannot be made', async () => {
    const failing = { provide: 'X', useFactory: () => Promise.reject(new Error('no X')) };
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    const commands = await redis.commandsDuring(async () => {
      await expect(create({ imports: [locks], providers: [failing] })).rejects.toThrow('no X');
    });
    expect(commands).toEqual({});
    expect(await redis.clients()).toEqual([]);
  });

  it('closes its connections when its init failed half-way and it is closed', async () => {
    @Injectable()
    class Failing implements OnModuleInit {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      async onModuleInit(): Promise<void> {
        await this.locks.acquire('left-over');
        throw new Error('no init');
      }
    }
    const locks = RedisLockModule.forRoot({ connection: redis.connection, shutdownTimeoutMs: 0 });
    const app = await create({ imports: [locks], providers: [Failing] });
    await expect(app.init()).rejects.toThrow('no init');
    expect(await redis.clients()).toHaveLength(1);
    await app.close();
    await eventually(async () => (await redis.clients()).length === 0);
    expect(await redis.keys()).toEqual([]);
    await expect(app.get(LockService).acquire('x')).rejects.toThrow(LockShutdownError);
  });

  it('may be closed without having been initialised, and twice', async () => {
    const app = await create({
      imports: [RedisLockModule.forRoot({ connection: redis.connection })],
    });
    await app.close();
    await app.close();
    expect(await redis.clients()).toEqual([]);
    await expect(app.get(LockService).acquire('x')).rejects.toThrow(LockShutdownError);
  });
});

/** Checked by the compiler: an unused @ts-expect-error fails the type check. */
export const typesOfFactories = (): unknown => {
  class Options implements RedisLockOptionsFactory {
    createRedisLockOptions() {
      return { keyPrefix: 'shop:' };
    }
  }
  const useFactory = () => ({ keyPrefix: 'shop:' });
  return [
    RedisLockModule.forRootAsync({ useFactory, isGlobal: false, name: 'cache' }),
    RedisLockModule.forRootAsync({ useClass: Options }),
    RedisLockModule.forRootAsync({ useExisting: Options, imports: [] }),
    // @ts-expect-error -- one way too many
    RedisLockModule.forRootAsync({ useFactory, useClass: Options }),
    // @ts-expect-error -- one way too many
    RedisLockModule.forRootAsync({ useClass: Options, useExisting: Options }),
    // @ts-expect-error -- a class has no parameters of a factory
    RedisLockModule.forRootAsync({ useClass: Options, inject: [Options] }),
    // @ts-expect-error -- no way at all
    RedisLockModule.forRootAsync({ name: 'cache' }),
    // @ts-expect-error -- it comes too late in a result
    RedisLockModule.forRootAsync({ useFactory: () => ({ isGlobal: false }) }),
    // @ts-expect-error -- it comes too late in a result, also in a promised one
    RedisLockModule.forRootAsync({ useFactory: () => Promise.resolve({ name: 'cache' }) }),
    // @ts-expect-error -- the call's option: nothing would renew it
    RedisLockModule.forRoot({ leaseTimeMs: 5_000 }),
    // @ts-expect-error -- it belongs under tuning
    RedisLockModule.forRoot({ pollIntervalMs: 50 }),
  ];
};
