import { describe, expect, it } from '@jest/globals';
import {
  applyDecorators,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Param,
  Scope,
  UseGuards,
  type CanActivate,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import {
  ContextIdFactory,
  NestFactory,
  REQUEST,
  type ContextId,
  type ContextIdStrategy,
  type HostComponentInfo,
} from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  CurrentLock,
  LockConfigurationError,
  LockKey,
  RedisLockModule,
  WithFairLock,
  WithLock,
} from 'nestjs-redis-lock';
import type { IncomingMessage } from 'node:http';
import { useRedis } from '../../support/redis-server.js';
import { useApplications, type RunningApp } from '../applications.js';

const redis = useRedis();
const apps = useApplications(redis);

/** Nothing for Nest to make by itself: what it is made of only its author knows. */
class Stock implements OnModuleInit {
  ready = '';

  constructor(readonly shop: string) {}

  async onModuleInit(): Promise<void> {
    this.ready = await this.buy('init').catch((error: unknown) => (error as Error).name);
  }

  @WithLock('product_<id>')
  async buy(@LockKey('id') id: string): Promise<string> {
    return `${this.shop} ${CurrentLock.lease().name}`;
  }

  @WithFairLock('product_<id>')
  async queue(@LockKey('id') id: string): Promise<string> {
    return `${this.shop} ${CurrentLock.lease().name}`;
  }
}

class Branch extends Stock {
  override async buy(id: string): Promise<string> {
    return `branch of ${await super.buy(id)}`;
  }
}

/** May be frozen: its onModuleInit writes nothing. */
class Cold extends Stock {
  constructor() {
    super('cold');
  }

  override async onModuleInit(): Promise<void> {
    await Promise.resolve();
  }
}

const made = (provider: Partial<Provider>) =>
  apps.start({ providers: [{ provide: 'STOCK', ...provider } as Provider] });

const stockOf = (app: RunningApp): Stock => app.nest.get<Stock>('STOCK');

describe('an object that Nest did not make', () => {
  it.each<[string, Partial<Provider>, string]>([
    ['useFactory', { useFactory: () => new Stock('made') }, 'made'],
    ['an asynchronous useFactory', { useFactory: async () => new Stock('late') }, 'late'],
    ['useValue', { useValue: new Stock('given') }, 'given'],
    ['a frozen useValue', { useValue: Object.freeze(new Cold()) }, 'cold'],
    ['a subclass that calls super', { useFactory: () => new Branch('made') }, 'branch of made'],
  ])('takes its locks: %s', async (_, provider, from) => {
    const stock = stockOf(await made(provider));
    expect(await stock.buy('7')).toBe(`${from} product_7`);
    expect(await stock.queue('8')).toMatch(/product_8$/);
  });

  it('takes them in its own onModuleInit', async () => {
    const app = await made({ useFactory: () => new Stock('made') });
    expect(stockOf(app).ready).toBe('made product_init');
  });

  it('may be anything else, too', async () => {
    const values: unknown[] = [null, undefined, 0, 'text', [], Object.create(null), () => 1];
    const providers = values.map((useValue, i) => ({ provide: `VALUE_${String(i)}`, useValue }));
    await apps.start({ providers });
  });

  it('is refused, as any other, where no interceptor would run', async () => {
    class Service {
      @WithLock('x', { via: 'interceptor' })
      async run(): Promise<void> {
        await Promise.resolve();
      }
    }
    const starting = made({ useFactory: () => new Service() });
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toThrow('this method is none');
  });

  it('takes those of the connection that it names, or the application does not start', async () => {
    class Cache {
      @WithLock('entry', { connection: 'cache' })
      async fill(): Promise<string> {
        return String(await redis.admin.exists('cache:entry'));
      }
    }
    const imports = [
      RedisLockModule.forRoot({ name: 'cache', connection: redis.connection, keyPrefix: 'cache:' }),
    ];
    const providers = [{ provide: Cache, useFactory: () => new Cache() }];
    const app = await apps.start({ imports, providers });
    expect(await app.nest.get(Cache).fill()).toBe('1');
    await expect(apps.start({ providers })).rejects.toThrow("forRoot({ name: 'cache' })");
  });

  it('may stand in for a provider of a test', async () => {
    @Injectable()
    class Real extends Stock {
      constructor() {
        super('real');
      }
    }
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    const module = await Test.createTestingModule({ imports: [locks], providers: [Real] })
      .overrideProvider(Real)
      .useValue(new Stock('stand-in'))
      .compile();
    await module.init();
    expect(await module.get(Real).buy('7')).toBe('stand-in product_7');
    await module.close();
  });

  it('belongs to the application that has it now, and has the locks of that one', async () => {
    const useValue = new Stock('kept');
    const earlier = await made({ useValue });
    expect(await useValue.buy('7')).toBe('kept product_7');
    await earlier.nest.close();
    await made({ useValue });
    expect(await useValue.buy('7')).toBe('kept product_7');
  });

  it('runs nothing where it is made for each request: the library cannot find it in time', async () => {
    @Controller()
    class Shop {
      constructor(@Inject('STOCK') readonly stock: Stock) {}

      @Get()
      async buy(): Promise<unknown> {
        return this.stock.buy('7').catch((error: unknown) => (error as Error).name);
      }
    }
    const useFactory = () => new Stock('scoped');
    const app = await apps.start({
      controllers: [Shop],
      providers: [{ provide: 'STOCK', scope: Scope.REQUEST, useFactory }],
    });
    expect(await (await app.request('/')).text()).toBe(LockConfigurationError.name);
  });
});

describe('a provider of a scope', () => {
  /** One instance of everything that is durable for each tenant. */
  class ByTenant implements ContextIdStrategy {
    readonly #tenants = new Map<string, ContextId>();

    attach(contextId: ContextId, request: IncomingMessage) {
      const tenant = String(request.headers['x-tenant']);
      const tree = this.#tenants.get(tenant) ?? ContextIdFactory.create();
      this.#tenants.set(tenant, tree);
      return {
        resolve: ({ isTreeDurable }: HostComponentInfo) => (isTreeDurable ? tree : contextId),
        payload: { tenant },
      };
    }
  }

  let durables = 0;
  @Injectable({ scope: Scope.REQUEST, durable: true })
  class Tenant {
    calls = 0;

    constructor(@Inject(REQUEST) readonly context: { tenant: string }) {
      durables += 1;
    }

    @WithLock('stock_<id>')
    async buy(@LockKey('id') id: string): Promise<string> {
      this.calls += 1;
      return `${this.context.tenant} ${CurrentLock.lease().name} ${String(this.calls)}`;
    }
  }

  @Injectable({ scope: Scope.REQUEST })
  class Visit {
    constructor(@Inject(REQUEST) readonly request: IncomingMessage) {}

    @WithLock('visit_<id>')
    async note(@LockKey('id') id: string): Promise<string> {
      return `${this.request.method ?? ''} ${CurrentLock.lease().name}`;
    }
  }

  @Controller()
  class Shop {
    constructor(
      readonly tenant: Tenant,
      readonly visit: Visit,
    ) {}

    @Get('buy/:id')
    buy(@Param('id') id: string): Promise<string> {
      return this.tenant.buy(id);
    }

    @Get('visit/:id')
    note(@Param('id') id: string): Promise<string> {
      return this.visit.note(id);
    }
  }

  it('takes its locks, made for a request or kept for a tenant', async () => {
    ContextIdFactory.apply(new ByTenant());
    const app = await apps.start({ controllers: [Shop], providers: [Tenant, Visit] });
    const get = async (path: string, tenant: string) =>
      (await app.request(path, { headers: { 'x-tenant': tenant } })).text();
    expect(await get('/buy/7', 'a')).toBe('a stock_7 1');
    expect(await get('/buy/8', 'b')).toBe('b stock_8 1');
    expect(await get('/buy/9', 'a')).toBe('a stock_9 2');
    expect(durables).toBe(2);
    expect(await get('/visit/7', 'a')).toBe('GET visit_7');
  });
});

describe('a decorator of an application', () => {
  class Deny implements CanActivate {
    canActivate(): boolean {
      return false;
    }
  }

  const LockedRoute = (path: string, key: string) =>
    applyDecorators(Get(path), WithLock(key) as MethodDecorator);

  /** Every method of the class by itself, under the lock of its own name. */
  const EachLocked = (prefix: string): ClassDecorator =>
    applyDecorators(({ prototype }: { prototype: object }) => {
      for (const name of Object.getOwnPropertyNames(prototype)) {
        const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
        if (name === 'constructor' || descriptor === undefined) continue;
        (WithLock(`${prefix}_${name}_<id>`) as MethodDecorator)(prototype, name, descriptor);
        Object.defineProperty(prototype, name, descriptor);
      }
    });

  @EachLocked('shop')
  @Controller('each')
  class Each {
    @Get('buy/:id')
    async buy(@Param('id') id: string): Promise<string> {
      return CurrentLock.lease().name;
    }

    @UseGuards(Deny)
    @Get('cancel/:id')
    async cancel(@Param('id') id: string): Promise<string> {
      return CurrentLock.lease().name;
    }
  }

  @Controller('one')
  class One {
    @LockedRoute('buy/:id', 'product_<id>')
    async buy(@Param('id') id: string): Promise<string> {
      return CurrentLock.lease().name;
    }
  }

  it('locks one method, or all methods of a class, and takes no guard away', async () => {
    const app = await apps.start({ controllers: [Each, One] });
    expect(await (await app.request('/one/buy/7')).text()).toBe('product_7');
    expect(await (await app.request('/each/buy/7')).text()).toBe('shop_buy_7');
    expect((await app.request('/each/cancel/7')).status).toBe(403);
  });
});

describe('an application without requests', () => {
  @Injectable()
  class Import {
    @WithLock('catalogue')
    async all(): Promise<string[]> {
      const [a, b] = await Promise.all([this.one('a'), this.one('b')]);
      return [CurrentLock.lease().name, a, b];
    }

    @WithLock('row_<id>')
    async one(@LockKey('id') id: string): Promise<string> {
      return CurrentLock.lease().name;
    }
  }

  it('takes its locks, in calls of its own methods too', async () => {
    const locks = RedisLockModule.forRoot({ connection: redis.connection });
    @Module({ imports: [locks], providers: [Import] })
    class Script {}
    const script = await NestFactory.createApplicationContext(Script, { logger: false });
    expect(await script.get(Import).all()).toEqual(['catalogue', 'row_a', 'row_b']);
    await script.close();
  });
});
