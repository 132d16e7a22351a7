import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cluster, Redis } from 'ioredis';
import {
  CurrentLock,
  LockConfigurationError,
  LockKey,
  LockKeyError,
  LockService,
  LockShutdownError,
  RedisLockModule,
  WithLock,
  type LockEvent,
  type RedisLockModuleAsyncOptions,
  type RedisLockOptions,
} from 'nestjs-redis-lock';
import { eventually, useProxy, useRealRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

/** The numbers are those of docs/internals/conformance.md. */
const redis = useRealRedis();
const proxy = useProxy(redis);
const clients: (Redis | Cluster)[] = [];

// Declared before the applications, and so run when they are closed.
afterEach(() => {
  for (const client of clients.splice(0)) if (client.status !== 'end') client.disconnect();
});
const apps = useApplications(redis);

/** A client of the caller, ended after the spec. */
const own = <Client extends Redis | Cluster>(client: Client): Client => {
  client.on('error', () => undefined);
  clients.push(client);
  return client;
};

@Module({})
class App {}

describe('d.2, the values for a key', () => {
  let ran = 0;

  @Injectable()
  class Shop {
    @WithLock('product_<id>')
    async byId(@LockKey('id') _id: unknown): Promise<string> {
      return Shop.held();
    }

    @WithLock('product_<0.item.sku>')
    async bySku(_order: unknown): Promise<string> {
      return Shop.held();
    }

    @WithLock('<0>:<1>')
    async pair(_first: unknown, _second: unknown): Promise<string> {
      return Shop.held();
    }

    @WithLock('nightly')
    async fixed(_report: unknown): Promise<string> {
      return Shop.held();
    }

    private static held(): string {
      ran += 1;
      return CurrentLock.lease().name;
    }
  }
  const item = (sku: unknown) => ({ item: { sku } });
  const throwing = Object.defineProperty({}, 'item', {
    enumerable: true,
    get: () => {
      throw new Error('lazy');
    },
  });
  type Verb = 'byId' | 'bySku' | 'pair' | 'fixed';
  type Call = [verb: Verb, ...values: unknown[]];
  const call = async (shop: Record<Verb, unknown>, verb: Verb, values: unknown[]) =>
    (shop[verb] as (...given: unknown[]) => Promise<string>).apply(shop, values);

  it.each<[number, string, Call, string]>([
    [41, 'a missing argument', ['byId'], '<id> is undefined'],
    [41, 'a missing property', ['bySku', {}], 'has no own property "item"'],
    [41, 'a missing property of a property', ['bySku', { item: {} }], 'no own property "sku"'],
    [42, 'null', ['byId', null], '<id> is null'],
    [42, 'null on the way', ['bySku', { item: null }], 'item is null'],
    [43, 'NaN', ['byId', NaN], '<id> is NaN'],
    [43, 'Infinity', ['byId', Infinity], '<id> is Infinity'],
    [44, 'an object', ['byId', { toString: () => '7' }], '<id> is an object'],
    [45, 'an array of 10,000', ['byId', Array.from({ length: 10_000 }, () => 7)], 'is an array'],
    [46, 'a getter that throws', ['bySku', throwing], 'its getter threw an error'],
    [50, 'a megabyte', ['byId', 'x'.repeat(1_000_000)], 'is a string of 1000000 characters'],
    [50, 'what is too long when escaped', ['byId', '\0'.repeat(1_000)], 'longer than 1024 bytes'],
    [54, 'an invalid Date', ['byId', new Date(NaN)], '<id> is a Date'],
    [54, 'a valid Date', ['byId', new Date(0)], '<id> is a Date'],
    [55, 'a symbol', ['byId', Symbol('7')], '<id> is a symbol'],
    [56, 'a promise', ['byId', Promise.resolve(7)], '<id> is a Promise'],
    [57, 'inherited ones', ['bySku', Object.create(item('7'))], 'has no own property "item"'],
    [57, 'an own __proto__', ['bySku', JSON.parse('{"__proto__":{"item":{"sku":1}}}')], 'item'],
    [57, 'a text instead of an object', ['bySku', '__proto__'], 'has no value'],
    [57, 'an empty text', ['byId', ''], '<id> is an empty string'],
  ])('d.2/%d %s: nothing runs, and nothing is sent', async (...row) => {
    const [, , [verb, ...values], reason] = row;
    const app = await apps.start({ providers: [Shop] });
    await app.locks.get('warm').isLocked();
    ran = 0;
    const shop = app.nest.get(Shop);
    const sent = await redis.commandsDuring(async () => {
      const error: unknown = await call(shop, verb, values).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(LockKeyError);
      expect((error as Error).message).toContain(reason);
      expect((error as Error).message.length).toBeLessThan(400);
    });
    expect(sent).toEqual({});
    expect(ran).toBe(0);
  });

  it.each<[number, string, Call, string]>([
    [47, 'the separator in the first', ['pair', 'a:b', 'c'], 'a%3Ab:c'],
    [47, 'the separator in the second', ['pair', 'a', 'b:c'], 'a:b:c'],
    [47, 'its escape in the first', ['pair', 'a%3Ab', 'c'], 'a%253Ab:c'],
    [48, 'braces', ['byId', '{a}{'], 'product_%7Ba%7D%7B'],
    [49, 'a line feed and a NUL', ['byId', 'a\n\0'], 'product_a%0A%00'],
    [49, 'an emoji with a variation selector', ['byId', '❤\ufe0f'], 'product_❤%EF%B8%8F'],
    [49, 'a soft hyphen', ['byId', 'a\u00adb'], 'product_a%C2%ADb'],
    [51, 'a bigint', ['byId', 2n ** 64n], 'product_18446744073709551616'],
    [52, '-0', ['byId', -0], 'product_0'],
    [53, '1e21', ['byId', 1e21], 'product_1e+21'],
    [57, 'the text __proto__', ['bySku', item('__proto__')], 'product___proto__'],
    [60, 'a key without a placeholder', ['fixed', 7], 'nightly'],
    [61, 'a text that looks like a template', ['byId', '<0>${1+1}'], 'product_<0>$%7B1+1%7D'],
    [62, 'a number', ['byId', 1], 'product_1'],
    [62, 'the same number as a text', ['byId', '1'], 'product_1'],
  ])('d.2/%d %s is a name: %j locks %s', async (...row) => {
    const [, , [verb, ...values], name] = row;
    const app = await apps.start({ providers: [Shop] });
    expect(await call(app.nest.get(Shop), verb, values)).toBe(name);
  });

  it.each<[number, string, string]>([
    [58, '', 'must not be empty'],
    [58, 'product_<id', 'never closed'],
    [58, 'product_<a..b>', 'is no placeholder'],
    [58, '<0><1>', 'need a text between them'],
    [58, 'product_${id}', 'write "product_<id>"'],
    [58, ' ', 'no value makes a usable name'],
    [58, 'a ', 'ends with white space'],
    [58, ' <0>', 'begins or ends with white space'],
    [58, '<0> ', 'ends with white space'],
    [58, 'redisson_x', '"redisson_" is reserved for helper keys'],
    [58, 'nestjs_<0>', '"nestjs_" is reserved for helper keys'],
    [58, '{<0>}:timeout', 'helper key of another name'],
    [58, 'a\n<0>', 'no value makes a usable name'],
    [58, '{<0>', 'no value makes a usable name'],
    [59, 'product_<sku>', 'no parameter has that name'],
    [59, 'product_<2>', 'there is no parameter 2'],
  ])('d.2/%d the template %j stops the definition of the class', (_, template, reason) => {
    const define = () => {
      @Injectable()
      class Defined {
        @WithLock(template)
        async run(_id: string, _pieces: number): Promise<void> {}
      }
      return Defined;
    };
    expect(define).toThrow(LockConfigurationError);
    expect(define).toThrow(reason);
    expect(define).toThrow('Defined.run');
  });
});

describe('d.9, the module and its connection', () => {
  const LAZY = { lazyConnect: true } as const;
  const observing = () => {
    const events: LockEvent[] = [];
    const observer = { observe: (event: LockEvent) => events.push(event) };
    const warnings = () => events.flatMap((event) => (event.type === 'warning' ? [event] : []));
    return { observer, warnings: () => warnings().map(({ message }) => message) };
  };
  const create = (...imports: Parameters<typeof Module>[0]['imports'] & object) =>
    NestFactory.create({ module: App, imports }, SILENT);
  /** Options as they come from JavaScript, or from the environment. */
  const loose = (options: unknown) => RedisLockModule.forRoot(options as RedisLockOptions);
  const made = (useFactory: () => unknown) =>
    RedisLockModule.forRootAsync({ useFactory } as RedisLockModuleAsyncOptions);

  /** As ioredis 4.31 has it: no mode, and a cache of scripts. */
  const ofFour = (client: Redis | Cluster) =>
    new Proxy(client, {
      get: (target, property) => {
        if (property === 'mode') return undefined;
        const value: unknown = Reflect.get(target, property, target);
        if (property !== 'options') return value;
        return { ...(value as object), maxScriptsCachingTime: 60_000 };
      },
    });
  const nodeRedis = { connect: () => undefined, sendCommand: () => undefined };
  const subscribed = async () => {
    const client = own(new Redis(redis.url, { protocol: 2, connectionName: 'test-news' }));
    await client.subscribe('news');
    return client;
  };
  const ofCluster = (redisOptions: object, options: object = {}) =>
    own(new Cluster([{ host: '127.0.0.1', port: 1 }], { ...LAZY, ...options, redisOptions }));
  const UNPREFIXED = 'set keyPrefix of the locks';
  const STUCK = { autoResendUnfulfilledCommands: false };

  type Make = () => unknown;
  const withClient = (options: object): Make => {
    return () => ({ connection: own(new Redis({ ...LAZY, ...options })) });
  };
  it.each<[number, string, Make, string]>([
    [146, 'an undefined connection', () => ({ connection: undefined }), 'environment variable'],
    [146, 'a connection of null', () => ({ connection: null }), 'not null'],
    [146, 'a port', () => ({ connection: 6379 }), 'not 6379'],
    [147, 'node-redis', () => ({ connection: nodeRedis }), 'such as node-redis'],
    [147, 'ioredis 4', () => ({ connection: ofFour(own(new Redis(LAZY))) }), 'is from ioredis 4'],
    [147, 'ioredis 4, Cluster', () => ({ connection: ofFour(ofCluster({})) }), 'is from ioredis 4'],
    [148, 'keyPrefix', () => ({ connection: { keyPrefix: 'x:' } }), UNPREFIXED],
    [148, 'a client with keyPrefix', withClient({ keyPrefix: 'x:' }), UNPREFIXED],
    [148, 'keyPrefix in a url', () => ({ connection: `${redis.url}?keyPrefix=x` }), UNPREFIXED],
    [
      148,
      'a Cluster with it',
      () => ({ connection: ofCluster({}, { keyPrefix: 'x' }) }),
      UNPREFIXED,
    ],
    [148, 'its nodes', () => ({ connection: ofCluster({ keyPrefix: 'x:' }) }), UNPREFIXED],
    [149, 'one that is subscribed', async () => ({ connection: await subscribed() }), 'subscribed'],
    [149, 'one that monitors', withClient({ monitor: true }), 'it only monitors'],
    [151, 'no second sending', () => ({ connection: STUCK }), 'pending after a cut'],
    [151, 'a client with that', withClient(STUCK), 'pending after a cut'],
    [151, 'a Cluster with that', () => ({ connection: ofCluster(STUCK) }), 'pending after a cut'],
    [
      155,
      'a database of a Cluster',
      () => ({ connection: ofCluster({ db: 3 }) }),
      'only database 0',
    ],
    [155, 'a database that is none', () => ({ connection: { db: '3x' } }), 'its db must be'],
    [155, 'half a database in a url', () => ({ connection: `${redis.url}/1.5` }), 'its db must be'],
    [155, 'an exponent in a url', () => ({ connection: `${redis.url}/1e1` }), 'its db must be'],
    [146, 'a url as an option', () => ({ connection: { url: redis.url } }), 'pass the url itself'],
    [146, 'a uri as an option', () => ({ connection: { uri: redis.url } }), 'pass the url itself'],
    [146, 'a typo', () => ({ connection: { hots: 'redis' } }), 'did you mean host?'],
    [146, 'a time of texts', () => ({ connection: { connectTimeout: 'x' } }), 'its connectTimeout'],
    [146, 'a space', () => ({ connection: ` ${redis.url}` }), 'it holds white space'],
    [
      146,
      'no name',
      () => ({ connection: { sentinels: [{ host: 'a' }] } }),
      'name of their master',
    ],
    [
      ...[146, 'a typo in a node', () => ({ redLock: { nodes: [{ hots: 'a' }] } })],
      'did you mean host?',
    ] as [number, string, Make, string],
    [156, 'readOnly', () => ({ connection: { readOnly: true } }), 'connect to the master'],
    [156, 'role: slave', withClient({ role: 'slave' }), 'connect to the master'],
    [161, 'an unknown option', () => ({ leaseTime: 5 }), 'unknown option "leaseTime"'],
    [161, 'an own __proto__', () => JSON.parse('{"__proto__":{}}') as unknown, 'unknown option'],
    [161, 'no options', () => null, 'must be a plain object'],
    [162, 'a limit of 0', () => ({ maxKeys: 0 }), 'maxKeys must be a whole number'],
    [162, 'a limit of texts', () => ({ maxWaitersPerKey: '10' }), 'maxWaitersPerKey must be'],
    [
      165,
      'a way to publish that is none',
      () => ({ tuning: { publish: 'shard' } }),
      'publish must be',
    ],
  ])('d.9/%d %s stops the start, and nothing is sent', async (...row) => {
    const [, , make, reason] = row;
    const options = await make();
    const sent = await redis.commandsDuring(async () => {
      const starting = create(loose(options));
      await expect(starting).rejects.toThrow(LockConfigurationError);
      await expect(starting).rejects.toThrow(reason);
    });
    expect(sent).toEqual({});
    expect(await redis.clients()).toEqual([]);
  });

  it.each<[number, string, Make, string]>([
    [158, 'returns nothing', () => undefined, 'the options must be a plain object'],
    [158, 'returns null', () => null, 'the options must be a plain object'],
    [158, 'throws', () => thrown(new Error('no vault')), 'failed: no vault'],
    [158, 'rejects', () => Promise.reject(new Error('no vault')), 'failed: no vault'],
    [158, 'has no connection', () => ({ connection: undefined }), 'environment variable'],
    [161, 'says what is unknown', () => ({ host: 'x' }), 'unknown option "host"'],
  ])('d.9/%d a factory that %s stops the start', async (_, __, make, reason) => {
    const starting = create(made(make));
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toThrow(reason);
    expect(await redis.clients()).toEqual([]);
  });

  const NOWHERE = { host: '127.0.0.1', port: 1 };
  it.each<[number, string, () => Redis]>([
    [
      150,
      'enableOfflineQueue: false with lazyConnect',
      () => new Redis(redis.url, { ...LAZY, enableOfflineQueue: false }),
    ],
    [153, 'maxRetriesPerRequest: null', () => new Redis(redis.url, { maxRetriesPerRequest: null })],
    [154, 'retryStrategy: () => null', () => new Redis(redis.url, { retryStrategy: () => null })],
  ])('d.9/%d %s works', async (_, __, make) => {
    const client = own(make());
    const app = await apps.start({}, { connection: client });
    await app.locks.using('a', () => app.locks.using('a', () => undefined, { fenced: true }));
    expect(client.status).toBe('ready');
  });

  it.each<[number, string, object, boolean]>([
    [150, 'enableOfflineQueue: false', { enableOfflineQueue: false }, true],
    [153, 'maxRetriesPerRequest: null', { maxRetriesPerRequest: null }, true],
    [154, 'retryStrategy: () => null', { retryStrategy: () => null }, false],
  ])('d.9/%d %s, without a server: an error in time', async (_, __, options, retryable) => {
    const connection = own(new Redis({ ...NOWHERE, ...options }));
    const app = await apps.start({}, { connection });
    if (!retryable) await eventually(() => connection.status === 'end');
    const startedAt = performance.now();
    await expect(app.locks.acquire('a', { waitTimeMs: 50 })).rejects.toMatchObject({
      ...{ code: 'LOCK_BACKEND', outcome: 'none', retryable },
    });
    expect(performance.now() - startedAt).toBeLessThan(5 * 100);
  });

  it('d.9/152 commandTimeout: releases what is granted after it', async () => {
    const client = own(new Redis(proxy.current.url, { commandTimeout: 100 }));
    const app = await apps.start({}, { connection: client });
    await app.locks.using('warm', () => undefined);
    const late = proxy.current.hold('toClient');
    const acquiring = app.locks.acquire('a', { waitTimeMs: 200 });
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_BACKEND', outcome: 'unknown' });
    expect(await redis.admin.exists('a')).toBe(1);
    late.heal();
    await eventually(async () => (await redis.admin.exists('a')) === 0);
  });

  it('d.9/159 a service that is asked before the application starts connects by itself', async () => {
    @Injectable()
    class Early implements OnModuleInit {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      onModuleInit = () => this.locks.using('b', () => undefined);
    }
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    const nest = await NestFactory.create(
      { module: App, imports: [locks], providers: [Early] },
      SILENT,
    );
    await nest.get(LockService).using('a', () => undefined);
    await apps.add(nest);
  });

  it('d.9/160 a service that is asked after the end refuses, and sends nothing', async () => {
    const app = await apps.start({});
    await app.nest.close();
    const sent = await redis.commandsDuring(async () => {
      for (const call of [() => app.locks.acquire('a'), () => app.locks.tryAcquire('a')]) {
        await expect(call()).rejects.toThrow(LockShutdownError);
      }
    });
    expect(sent).toEqual({});
  });

  it.each([
    ['noeviction', false],
    ...['allkeys-lru', 'allkeys-lfu', 'allkeys-random'].map((policy) => [policy, true] as const),
    ...['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'].map(
      (policy) => [policy, true] as const,
    ),
  ] as const)('d.9/164 maxmemory-policy %s: a warning is %p', async (policy, isWarned) => {
    await redis.admin.config('SET', 'maxmemory-policy', policy);
    const { observer, warnings } = observing();
    const app = await apps.start({}, { observer });
    await app.locks.using('a', () => undefined);
    if (isWarned) await eventually(() => warnings().length > 0);
    expect(warnings()).toEqual(
      isWarned ? [expect.stringContaining(`maxmemory-policy is ${policy}`)] : [],
    );
    await redis.admin.config('SET', 'maxmemory-policy', 'noeviction');
  });

  it.each([
    ['allkeys-lru', '100mb', true],
    ['volatile-ttl', '100mb', true],
    ['noeviction', '100mb', false],
    ['allkeys-lru', '0', false],
  ])('onEviction: refuse, %s with maxmemory %s: the start fails is %p', async (...row) => {
    const [policy, maxmemory, fails] = row;
    await redis.admin.config('SET', 'maxmemory-policy', policy, 'maxmemory', maxmemory);
    try {
      const starting = apps.start({}, { onEviction: 'refuse' });
      if (!fails) await (await starting).locks.using('a', () => undefined);
      else {
        await expect(starting).rejects.toThrow(
          `maxmemory-policy is ${policy}; set it to noeviction`,
        );
        await expect(starting).rejects.toBeInstanceOf(LockConfigurationError);
      }
    } finally {
      await redis.admin.config('SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '0');
    }
  });

  it('onEviction: refuse, and no Redis: the application starts', async () => {
    proxy.current.refuse();
    const app = await apps.start({}, { connection: proxy.current.url, onEviction: 'refuse' });
    expect(app.locks).toBeDefined();
  });

  const away = { host: 'redis.example', password: 's3cret' };
  it.each<[string, () => unknown, boolean]>([
    ['a url', () => 'redis://:s3cret@redis.example', true],
    ['options', () => away, true],
    ['a client', () => own(new Redis({ ...LAZY, ...away })), true],
    [
      'Sentinel',
      () => ({ sentinels: [{ host: 'redis.example' }], name: 'm', password: 'x' }),
      true,
    ],
    [
      'a Cluster',
      () => own(new Cluster(['redis://redis.example'], { ...LAZY, redisOptions: away })),
      true,
    ],
    ['a url with TLS', () => 'rediss://:s3cret@redis.example', false],
    ['options with TLS', () => ({ ...away, tls: {} }), false],
    ['no password', () => 'redis://redis.example', false],
    ['this machine', () => 'redis://:s3cret@127.0.0.1', false],
    ['this machine by name', () => ({ ...away, host: 'localhost' }), false],
    ['this machine by IPv6', () => 'redis://:s3cret@[::1]', false],
    ['a socket', () => '/tmp/redis.sock?password=s3cret', false],
  ])('d.9/166 a password without TLS, %s: a warning without it', async (...row) => {
    const [, make, isWarned] = row;
    const { observer, warnings } = observing();
    const app = await create(RedisLockModule.forRoot({ connection: make() as string, observer }));
    expect(warnings()).toEqual(
      isWarned ? [expect.stringMatching(/travels to redis\.example in plain text/)] : [],
    );
    expect(warnings().join()).not.toContain('s3cret');
    await app.close();
  });
});

function thrown(error: Error): never {
  throw error;
}
