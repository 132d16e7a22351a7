import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Scope,
  type OnApplicationBootstrap,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import {
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockConfigurationError,
  LockKey,
  LockKeyError,
  LockService,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  WithLock,
} from 'nestjs-redis-lock';
import { eventually, Gate, redisson, Section, useRedis, watch } from '../support/set-up.js';
import { useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

/** Makes an application with this provider, and hands it back. */
async function provided<T extends object>(provider: Type<T>): Promise<T> {
  const app = await apps.start({ providers: [provider] });
  return app.nest.get(provider);
}

const owners = (key: string) => redis.admin.hkeys(key);

describe('a method with @WithLock', () => {
  it('runs alone for all callers, and in no other process either', async () => {
    const section = new Section();
    @Injectable()
    class Stock {
      @WithLock('product_<id>')
      async buy(@LockKey('id') id: string): Promise<string> {
        return section.run(async () => {
          await redis.admin.ping();
          return id;
        });
      }
    }
    const stock = await provided(Stock);
    const other = await provided(Stock);
    const sold = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? stock : other).buy('7')),
    );
    expect(sold).toEqual(Array.from({ length: 20 }, () => '7'));
    expect([section.entries, section.most]).toEqual([20, 1]);
  });

  it('has the key of a LockService call with the same name, and its options', async () => {
    const gate = new Gate();
    @Injectable()
    class Stock {
      @WithLock('product_<id>', { leaseTimeMs: 5_000, fenced: true })
      async buy(@LockKey('id') id: number): Promise<number | undefined> {
        await gate.opened;
        return CurrentLock.lease().fencingToken;
      }
    }
    const app = await apps.start({ providers: [Stock] });
    const buying = app.nest.get(Stock).buy(7);
    await eventually(async () => (await redis.admin.exists('product_7')) === 1);
    expect(await app.locks.tryAcquire('product_7')).toBeNull();
    expect(await redis.admin.pttl('product_7')).toBeLessThanOrEqual(5_000);
    gate.open();
    expect(await buying).toEqual(expect.any(Number));
    await using lease = await app.locks.acquire('product_7');
    expect(lease.state).toBe('held');
  });

  it('releases before the call settles, also when the method fails', async () => {
    const failure = Object.freeze({ not: 'an Error' });
    @Injectable()
    class Stock {
      @WithLock('product_7')
      async buy(): Promise<void> {
        await Promise.resolve();
      }

      @WithLock('product_7')
      fail(): Promise<void> {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
        return Promise.reject(failure);
      }

      @WithLock('product_7')
      throwAtOnce(): Promise<void> {
        throw failure;
      }
    }
    const stock = await provided(Stock);
    await stock.buy();
    expect(await owners('product_7')).toEqual([]);
    await expect(stock.fail()).rejects.toBe(failure);
    expect(await owners('product_7')).toEqual([]);
    await expect(stock.throwAtOnce()).rejects.toBe(failure);
    expect(await owners('product_7')).toEqual([]);
  });

  it('gives the body its lease, and nests like using()', async () => {
    @Injectable()
    class Stock {
      @WithLock('product_<0>')
      async buy(id: string): Promise<[number, number]> {
        const outer = CurrentLock.lease();
        outer.assertHeld();
        return [outer.holdCount, await this.check(id)];
      }

      @WithLock('product_<0>')
      async check(id: string): Promise<number> {
        return CurrentLock.lease().holdCount;
      }
    }
    const stock = await provided(Stock);
    expect(await stock.buy('7')).toEqual([1, 2]);
    expect(() => CurrentLock.lease()).toThrow(LockStateError);
  });

  it('rejects with LeaseLostError and the result when the lease was lost meanwhile', async () => {
    @Injectable()
    class Stock {
      @WithLock('product_7')
      async buy(): Promise<string> {
        await redis.admin.del('product_7');
        return 'sold';
      }
    }
    const error: unknown = await (await provided(Stock)).buy().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LeaseLostError);
    expect(error).toMatchObject({ result: 'sold', lockName: 'product_7' });
  });

  it('takes its name from a function of the arguments, and rejects with what that throws', async () => {
    const failure = new Error('no name');
    @Injectable()
    class Stock {
      @WithLock((id: string) => `product_${id}`)
      async buy(id: string, buyer: string): Promise<string> {
        return CurrentLock.lease().name;
      }

      @WithLock((id: string) => {
        throw failure;
      })
      async fail(id: string): Promise<void> {
        await Promise.resolve();
      }

      @WithLock((() => undefined) as unknown as () => string)
      async nameless(): Promise<void> {
        await Promise.resolve();
      }

      @WithLock((async () => Promise.reject(failure)) as unknown as () => string)
      async late(): Promise<void> {
        await Promise.resolve();
      }
    }
    const stock = await provided(Stock);
    expect(await stock.buy('7', 'ann')).toBe('product_7');
    await expect(stock.fail('7')).rejects.toBe(failure);
    await expect(stock.nameless()).rejects.toMatchObject({ code: 'LOCK_KEY', origin: 'code' });
    // A rejection that no caller handles would end the process.
    await expect(stock.late()).rejects.toThrow(LockKeyError);
  });

  it('refuses a result that shows it to be synchronous', async () => {
    @Injectable()
    class Stock {
      // @ts-expect-error -- a synchronous method
      @WithLock('product_7')
      buy(): unknown {
        return 'sold';
      }
    }
    const stock = await provided(Stock);
    const buying = stock.buy();
    await expect(buying).rejects.toThrow(LockConfigurationError);
    await expect(buying).rejects.toThrow(
      '@WithLock("product_7") on Stock.buy returned neither a Promise nor an Observable',
    );
    expect(await owners('product_7')).toEqual([]);
  });
});

describe('onBusy', () => {
  @Injectable()
  class Stock {
    runs = 0;
    readonly inner = new LockTimeoutError('inner', { waitedMs: 1, retryAfterMs: 1 });

    @WithLock('busy', { waitTimeMs: 0 })
    async patient(): Promise<void> {
      this.runs += 1;
      await Promise.resolve();
    }

    @WithLock('busy', { waitTimeMs: 0, onBusy: 'skip' })
    async skipped(): Promise<string | undefined> {
      this.runs += 1;
      return 'ran';
    }

    @WithLock('busy_<id>', {
      waitTimeMs: 0,
      onBusy: (args, error) => [...args, error.lockName],
    })
    async answered(@LockKey('id') id: string, count: number): Promise<unknown> {
      this.runs += 1;
      return 'ran';
    }

    @WithLock('free', { onBusy: 'skip' })
    async throwing(): Promise<void> {
      this.runs += 1;
      throw this.inner;
    }
  }

  it('throws by default', async () => {
    const stock = await provided(Stock);
    await redisson.tryLock(redis.admin, 'busy');
    await expect(stock.patient()).rejects.toThrow(LockTimeoutError);
    expect(stock.runs).toBe(0);
  });

  it('skips the method, or answers in its place', async () => {
    const stock = await provided(Stock);
    await redisson.tryLock(redis.admin, 'busy');
    await redisson.tryLock(redis.admin, 'busy_7');
    await expect(stock.skipped()).resolves.toBeUndefined();
    await expect(stock.answered('7', 2)).resolves.toEqual(['7', 2, 'busy_7']);
    expect(stock.runs).toBe(0);
    await redisson.unlock(redis.admin, 'busy');
    await expect(stock.skipped()).resolves.toBe('ran');
  });

  it('has no say about a timeout that the method itself ran into', async () => {
    const stock = await provided(Stock);
    await expect(stock.throwing()).rejects.toBe(stock.inner);
    expect(stock.runs).toBe(1);
  });

  it('has no say about a Redis that cannot be asked', async () => {
    const stock = await provided(Stock);
    redis.pause();
    try {
      await expect(stock.skipped()).rejects.toThrow(LockBackendError);
    } finally {
      redis.resume();
    }
    expect(stock.runs).toBe(0);
  });
});

describe('where it works', () => {
  it('on controllers, after pipes', async () => {
    @Controller('products')
    class Products {
      @Post('number/:id')
      @WithLock('product_<id>')
      async byNumber(@Param('id', ParseIntPipe) id: number): Promise<string> {
        return CurrentLock.lease().name;
      }

      @Post('text/:id')
      @WithLock('product_<id>')
      async byText(@Param('id') id: string): Promise<string> {
        return CurrentLock.lease().name;
      }
    }
    const app = await apps.start({ controllers: [Products] });
    const nameOf = async (path: string) =>
      (await app.request(`/products/${path}`, { method: 'POST' })).text();
    expect(await nameOf('number/007')).toBe('product_7');
    expect(await nameOf('text/a%7Db')).toBe('product_a%7Db');
  });

  it('from the first moment on: in onModuleInit and onApplicationBootstrap', async () => {
    const names: string[] = [];
    @Injectable()
    class Starter implements OnModuleInit, OnApplicationBootstrap {
      onModuleInit(): Promise<void> {
        return this.run('init');
      }

      onApplicationBootstrap(): Promise<void> {
        return this.run('bootstrap');
      }

      @WithLock('start_<0>', { waitTimeMs: 0 })
      async run(phase: string): Promise<void> {
        names.push(CurrentLock.lease().name);
      }
    }
    await provided(Starter);
    expect(names).toEqual(['start_init', 'start_bootstrap']);
  });

  it('on request-scoped controllers and transient providers', async () => {
    @Controller({ path: 'scoped', scope: Scope.REQUEST })
    class Scoped {
      @Get(':id')
      @WithLock('product_<id>')
      async show(@Param('id') id: string): Promise<string> {
        return CurrentLock.lease().name;
      }
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @WithLock('transient')
      async run(): Promise<string> {
        return CurrentLock.lease().name;
      }
    }
    const app = await apps.start({ controllers: [Scoped], providers: [Transient] });
    expect(await (await app.request('/scoped/7')).text()).toBe('product_7');
    expect(await (await app.nest.resolve(Transient)).run()).toBe('transient');
    expect(await (await app.nest.get(ModuleRef).create(Transient)).run()).toBe('transient');
  });

  it('on inherited and overridden methods, beside injections of the subclass', async () => {
    abstract class Base {
      @WithLock('product_<0>')
      async buy(id: string): Promise<string> {
        return `base ${String(CurrentLock.lease().holdCount)}`;
      }

      @WithLock('product_<0>')
      async cancel(id: string): Promise<string> {
        return CurrentLock.lease().name;
      }
    }
    @Injectable()
    class Sub extends Base {
      @Inject('NAME') readonly name!: string;

      @WithLock('product_<0>')
      override async buy(id: string): Promise<string> {
        return `${this.name} over ${await super.buy(id)}`;
      }
    }
    const app = await apps.start({
      providers: [Sub, { provide: 'NAME', useValue: 'sub' }],
    });
    const sub = app.nest.get(Sub);
    expect(await sub.buy('7')).toBe('sub over base 2');
    expect(await sub.cancel('7')).toBe('product_7');
  });

  it('on frozen instances, without a trace on them', async () => {
    @Injectable()
    class Frozen {
      constructor() {
        Object.freeze(this);
      }

      @WithLock('frozen')
      async run(): Promise<string> {
        return CurrentLock.lease().name;
      }
    }
    const frozen = await provided(Frozen);
    expect(await frozen.run()).toBe('frozen');
    expect(Reflect.ownKeys(frozen)).toEqual([]);
  });

  it('through a proxy, and on an object that inherits from an instance', async () => {
    @Injectable()
    class Jobs {
      readonly title: string = 'own';

      @WithLock('job')
      async run(): Promise<string> {
        await Promise.resolve();
        return this.title;
      }
    }
    const jobs = await provided(Jobs);
    expect(await new Proxy(jobs, {}).run()).toBe('own');
    const inherits = Object.create(jobs, { title: { value: 'another' } }) as Jobs;
    expect(await inherits.run()).toBe('another');
    expect(Object.keys(jobs)).toEqual(['title']);
    expect(jobs).toEqual(new Jobs());
  });

  it('in two applications of one process, each with its own locks', async () => {
    const gates = { a: new Gate(), b: new Gate() };
    let begun = 0;
    @Injectable()
    class Jobs {
      @WithLock('job')
      async run(gate: Gate): Promise<string> {
        begun += 1;
        await gate.opened;
        return CurrentLock.lease().name;
      }
    }
    const [a, b] = await Promise.all(
      ['a:', 'b:'].map((keyPrefix) =>
        apps.start({ providers: [Jobs] }, { keyPrefix, shutdownTimeoutMs: 50 }),
      ),
    );
    const running = [a?.nest.get(Jobs).run(gates.a), b?.nest.get(Jobs).run(gates.b)];
    await eventually(() => begun === 2);
    expect((await redis.keys()).sort()).toEqual(['a:job', 'b:job']);
    await a?.nest.close();
    gates.b.open();
    expect(await running[1]).toBe('job');
    gates.a.open();
    await expect(running[0]).rejects.toThrow(LeaseLostError);
    await expect(a?.nest.get(Jobs).run(gates.a)).rejects.toThrow(LockShutdownError);
  });

  it('not on an object that Nest did not make', async () => {
    @Injectable()
    class Jobs {
      @WithLock('job')
      async run(): Promise<void> {
        await Promise.resolve();
      }
    }
    const byHand = watch(new Jobs().run());
    await expect(byHand.promise).rejects.toThrow(LockConfigurationError);
    await expect(byHand.promise).rejects.toThrow('@WithLock("job") on Jobs.run');
    const { run } = await provided(Jobs);
    await expect(run.call(undefined as never)).rejects.toThrow(LockConfigurationError);
  });

  it('not without the module: the application does not start', async () => {
    @Injectable()
    class Jobs {
      @WithLock('job')
      async run(): Promise<void> {
        await Promise.resolve();
      }
    }
    @Module({ providers: [Jobs] })
    class App {}
    const starting = NestFactory.createApplicationContext(App, {
      logger: false,
      abortOnError: false,
    });
    await expect(starting).rejects.toThrow('RedisLockModule.forRoot()');
  });

  it('in unit tests, with a stand-in for the service', async () => {
    @Injectable()
    class Jobs {
      @WithLock('job')
      async run(): Promise<string> {
        return 'ran';
      }
    }
    const names: string[] = [];
    const using = (name: string, work: () => unknown) => {
      names.push(name);
      return Promise.resolve(work());
    };
    @Module({ providers: [Jobs, { provide: LockService, useValue: { using } }] })
    class App {}
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    expect(await app.get(Jobs).run()).toBe('ran');
    expect(names).toEqual(['job']);
  });
});
