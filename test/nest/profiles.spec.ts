import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  CurrentLock,
  FairLockService,
  InjectLock,
  LatchService,
  LockArgumentError,
  LockConfigurationError,
  LockService,
  LockTimeoutError,
  ReadWriteLockService,
  RedisLockModule,
  SemaphoreService,
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  type LockTemplate,
  type LockTemplateOptions,
  type RedisLockModuleOptions,
} from 'nestjs-redis-lock';
import { useRedis } from '../support/redis-server.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

const profiles = {
  checkout: { waitTimeMs: 0, leaseTimeMs: 5_000 },
  fenced: { fenced: true },
  wait: { waitTimeMs: 0 },
} as const;

/** The rest of the present lease, and whether it has a token. */
const lease = () => {
  const { remainingMs, fencingToken } = CurrentLock.lease();
  return { isShort: remainingMs <= 5_000, isFenced: fencingToken !== undefined };
};
const SHORT = { isShort: true, isFenced: false };

@Injectable()
class Shop {
  constructor(@InjectLock('orders') readonly orders: LockTemplate<'order_<id>'>) {}

  @WithLock('product', { profile: 'checkout' })
  async buy() {
    return Promise.resolve(lease());
  }

  @WithLock('product', { profile: 'checkout', leaseTimeMs: 20_000 })
  async own() {
    return Promise.resolve(lease());
  }

  @WithFairLock('queue', { profile: 'fenced' })
  async queue() {
    return Promise.resolve(lease());
  }

  @WithReadLock('page', { profile: 'checkout' })
  async read() {
    return Promise.resolve(lease());
  }
}

@Injectable({ scope: Scope.REQUEST })
class Visit {
  @WithLock('visit', { profile: 'nowhere' })
  async pay(): Promise<void> {
    await Promise.resolve();
  }
}

@Controller('via')
class Via {
  @Get()
  @WithLock('via', { profile: 'checkout', via: 'interceptor' })
  pay(): unknown {
    return lease();
  }
}

const orders: LockTemplateOptions = { name: 'orders', key: 'order_<id>', profile: 'checkout' };

describe('profiles', () => {
  const start = (imports = [RedisLockModule.forFeature([orders])]) =>
    apps.start({ imports, providers: [Shop], controllers: [Via] }, { profiles });

  it('give decorators their options; those of the decorator come first', async () => {
    const { nest, ...app } = await start();
    const shop = nest.get(Shop);
    expect(await shop.buy()).toEqual(SHORT);
    expect(await shop.own()).toEqual({ isShort: false, isFenced: false });
    expect(await shop.queue()).toEqual({ isShort: false, isFenced: true });
    expect(await shop.read()).toEqual(SHORT);
    expect(await (await fetch(`${app.url}/via`)).json()).toEqual(SHORT);
    await redis.admin.del(...(await redis.admin.keys('*token*')));
  });

  it('give calls of every service and templates their options', async () => {
    const { nest, locks } = await start();
    const options = { profile: 'checkout' };
    const semaphore = nest.get(SemaphoreService).get('permits');
    await semaphore.trySetPermits(1);
    const all = [
      locks.get('a'),
      nest.get(FairLockService).get('b'),
      nest.get(ReadWriteLockService).get('c').write,
      nest.get(ReadWriteLockService).get('d').read,
      locks.multi(['e', 'f']),
      semaphore,
    ];
    for (const lock of all) {
      await using held = await lock.acquire(options);
      expect([lock.name, held.remainingMs <= 5_000]).toEqual([lock.name, true]);
    }
    const order = nest.get(Shop).orders.get({ id: 1 });
    await using held = await order.acquire();
    expect(held.remainingMs).toBeLessThanOrEqual(5_000);
    await expect(locks.acquire('order_1', options)).rejects.toThrow(LockTimeoutError);
    const undefinedOptions = { profile: 'checkout', waitTimeMs: undefined };
    await expect(locks.acquire('order_1', undefinedOptions)).rejects.toThrow(LockTimeoutError);
    await redis.admin.del(...(await redis.admin.keys('*permits*')));
  });

  it('stay as they were at the start', async () => {
    const checkout = { waitTimeMs: 0 };
    const mine: Record<string, object> = { checkout };
    const { locks } = await apps.start({}, { profiles: mine });
    checkout.waitTimeMs = -1;
    mine['late'] = checkout;
    await (await locks.acquire('a', { profile: 'checkout' })).release();
    await expect(locks.acquire('b', { profile: 'late' })).rejects.toThrow(LockArgumentError);
  });

  it('come from a factory, too', async () => {
    const locks = RedisLockModule.forRootAsync({
      useFactory: () => ({ connection: redis.connection, profiles: { late: { waitTimeMs: 0 } } }),
    });
    const app = await apps.add(await NestFactory.create({ module: App, imports: [locks] }, SILENT));
    await using held = await app.locks.acquire('a', { profile: 'late' });
    await expect(app.locks.acquire('a', { profile: 'late' })).rejects.toThrow(LockTimeoutError);
    expect(held.state).toBe('held');
  });

  it('say how long to wait for latches and permits without leases', async () => {
    const { nest } = await start();
    const latch = nest.get(LatchService).get('latch');
    await latch.trySetCount(1);
    expect(await latch.wait({ profile: 'wait' })).toBe(false);
    await latch.delete();
    const count = nest.get(SemaphoreService).counting('count');
    await expect(count.acquire(1, { profile: 'wait' })).rejects.toThrow(LockTimeoutError);
  });

  it.each([
    [
      'unknown',
      'there is no profile "unknown"; the connection "default" has "checkout", "fenced", "wait"',
    ],
    ['constructor', 'there is no profile "constructor"'],
    [5, 'profile must be the name of a profile, not 5'],
  ])('refuse a call with %p', async (profile, problem) => {
    const { locks } = await start();
    const calls = [
      locks.acquire('a', { profile } as never),
      locks.multi(['a', 'b']).acquire({ profile } as never),
    ];
    for (const call of calls) {
      await expect(call).rejects.toThrow(LockArgumentError);
      await expect(call).rejects.toThrow(problem);
    }
  });

  it('refuse a call whose kind of lock has no such option', async () => {
    const { nest } = await start();
    const { read } = nest.get(ReadWriteLockService).get('a');
    await expect(read.acquire({ profile: 'fenced' })).rejects.toThrow(
      'with the profile "fenced": unknown option "fenced"',
    );
    const latch = nest.get(LatchService).get('latch');
    await expect(latch.wait({ profile: 'checkout' })).rejects.toThrow(
      'with the profile "checkout": unknown option "leaseTimeMs"',
    );
    await expect(
      nest.get(LockService).acquire('a', { profile: 'checkout', maxHoldMs: 1_000 }),
    ).rejects.toThrow('give one of the two');
  });
});

@Module({})
class App {}

describe('a profile that does not suit stops the start', () => {
  const refused = async (
    parts: { providers?: never[]; controllers?: never[]; templates?: LockTemplateOptions[] },
    options: RedisLockModuleOptions = { profiles },
  ) => {
    const { templates = [], ...metadata } = parts;
    const imports = [
      RedisLockModule.forRoot({ connection: redis.connection, ...options }),
      RedisLockModule.forFeature(templates),
    ];
    const error: unknown = await NestFactory.create({ module: App, imports, ...metadata }, SILENT)
      .then((app) => app.init())
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect(await redis.clients()).toEqual([]);
    return (error as Error).message;
  };
  const providers = (...classes: unknown[]) => ({ providers: classes as never[] });

  it('of a decorated class of any scope, and of a handler', async () => {
    expect(await refused(providers(Visit))).toBe(
      '@WithLock("visit") on Visit.pay: there is no profile "nowhere"; the connection "default" has "checkout", "fenced", "wait"',
    );
    expect(await refused({ controllers: [Via] as never[] }, {})).toContain(
      '@WithLock("via") on Via.pay: there is no profile "checkout"; the connection "default" has none',
    );
  });

  it('of a kind that has no such option', async () => {
    @Injectable()
    class Gate {
      @WithSemaphore('gate', { profile: 'fenced' })
      async pass(): Promise<void> {
        await Promise.resolve();
      }
    }
    expect(await refused(providers(Gate))).toContain(
      '@WithSemaphore("gate") on Gate.pass: with the profile "fenced": unknown option "fenced"',
    );
  });

  it('of a template', async () => {
    const templates = [{ name: 'orders', key: 'order_<id>', profile: 'nowhere' }];
    expect(await refused({ templates })).toContain(
      'template "orders": there is no profile "nowhere"',
    );
  });

  it.each([
    [5, 'profiles must be a plain object of options by name'],
    [{ a: 5 }, 'profiles, "a": options must be a plain object, not 5'],
    [{ a: { wait: 5 } }, 'profiles, "a": unknown option "wait"; the options are waitTimeMs'],
    [{ a: { waitTimeMs: -1 } }, 'profiles, "a": waitTimeMs must be'],
    [{ a: { profile: 'b' } }, 'profiles, "a": unknown option "profile"'],
    [{ a: { signal: new AbortController().signal } }, 'profiles, "a": unknown option "signal"'],
    [{ a: { label: 'x' } }, 'profiles, "a": unknown option "label"'],
  ])('that is %p', async (given, problem) => {
    expect(await refused({}, { profiles: given as never })).toContain(problem);
  });
});
