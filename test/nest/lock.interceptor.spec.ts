import { describe, expect, it } from '@jest/globals';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Post,
  UseInterceptors,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_INTERCEPTOR, ExternalContextCreator, NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import {
  CurrentLock,
  LockConfigurationError,
  LockExceptionFilter,
  LockInterceptor,
  WithLock,
} from 'nestjs-redis-lock';
import { APP_FILTER } from '@nestjs/core';
import { defer, type Observable } from 'rxjs';
import { redisson, Section, useRealRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);
const section = new Section();

const currentLock = async (): Promise<string> => {
  CurrentLock.lease().assertHeld();
  expect(await redis.admin.exists(CurrentLock.lease().name)).toBe(1);
  return CurrentLock.lease().name;
};

interface HttpRequest {
  readonly headers: Readonly<Record<string, string>>;
}

@Controller('products')
class Products {
  @Get('raw/:id')
  @WithLock('product_<params.id>', { via: 'interceptor' })
  async raw(@Param('id', ParseIntPipe) id: number): Promise<string> {
    return `${await currentLock()} ${String(id)}`;
  }

  @Post('parts/:id')
  @WithLock('<params.id>_<query.page>_<body.item.sku>', { via: 'interceptor' })
  async parts(@Body() body: unknown): Promise<string> {
    return currentLock();
  }

  @Get('tenant')
  @WithLock(
    (context: ExecutionContext) =>
      `tenant_${context.switchToHttp().getRequest<HttpRequest>().headers['x-tenant'] ?? ''}`,
    { via: 'interceptor', fenced: true },
  )
  async tenant(): Promise<string> {
    expect(CurrentLock.lease().fencingToken).toEqual(expect.any(Number));
    return currentLock();
  }

  @Get('sync')
  @WithLock('sync', { via: 'interceptor' })
  sync(): string {
    return CurrentLock.lease().name;
  }

  @Get('observable')
  @WithLock('observable', { via: 'interceptor' })
  observable(): Observable<string> {
    return defer(currentLock);
  }

  @Get('alone')
  @WithLock('alone', { via: 'interceptor' })
  async alone(): Promise<void> {
    await section.run(() => redis.admin.ping());
  }

  @Get('busy')
  @WithLock('busy', { via: 'interceptor', waitTimeMs: 0 })
  async busy(): Promise<string> {
    return 'ran';
  }

  @Get('skip')
  @WithLock('busy', { via: 'interceptor', waitTimeMs: 0, onBusy: 'skip' })
  async skip(): Promise<string> {
    return 'ran';
  }

  @Get('answer')
  @WithLock('busy', {
    via: 'interceptor',
    waitTimeMs: 0,
    onBusy: ([context], error) => `${context.getHandler().name} ${error.code}`,
  })
  async answer(): Promise<string> {
    return 'ran';
  }

  @Get('fails')
  @WithLock('fails', { via: 'interceptor' })
  async fails(): Promise<void> {
    throw new Error('broken');
  }

  @Get('free')
  async free(): Promise<string> {
    return 'free';
  }
}

const start = () =>
  apps.start({
    controllers: [Products],
    providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
  });

describe('LockInterceptor', () => {
  it('leaves the method as it is', () => {
    const original = async (): Promise<void> => {
      await Promise.resolve();
    };
    const descriptor = { value: original };
    WithLock('x', { via: 'interceptor' })({ constructor: Products }, 'buy', descriptor);
    expect(descriptor.value).toBe(original);
  });

  it('makes the name from raw values, before pipes', async () => {
    const app = await start();
    expect(await (await app.request('/products/raw/007')).text()).toBe('product_007 7');
    expect((await app.request('/products/raw/seven')).status).toBe(400);
    expect(await redis.keys()).toEqual([]);
  });

  it('finds path, query and body', async () => {
    const app = await start();
    const post = (path: string, body: unknown) =>
      app.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const response = await post('/products/parts/7?page=2', { item: { sku: 'a_b' } });
    expect(await response.text()).toBe('7_2_a_b');

    const refused = ['/products/parts/7', '/products/parts/7?page=1&page=2'];
    const commands = await redis.commandsDuring(async () => {
      for (const path of refused) {
        expect((await post(path, { item: { sku: 'a' } })).status).toBe(400);
      }
      expect((await post('/products/parts/7?page=2', { item: null })).status).toBe(400);
      expect((await post('/products/parts/7?page=2', {})).status).toBe(400);
    });
    expect(commands).toEqual({});
  });

  it('asks a function of the context, and takes options', async () => {
    const app = await start();
    const response = await app.request('/products/tenant', { headers: { 'x-tenant': 't' } });
    expect(await response.text()).toBe('tenant_t');
  });

  it('locks synchronous handlers and Observables', async () => {
    const app = await start();
    expect(await (await app.request('/products/sync')).text()).toBe('sync');
    expect(await (await app.request('/products/observable')).text()).toBe('observable');
  });

  it('lets one request at a time in', async () => {
    const app = await start();
    await Promise.all(Array.from({ length: 10 }, () => app.request('/products/alone')));
    expect([section.entries, section.most]).toEqual([10, 1]);
  });

  it('asks onBusy', async () => {
    const app = await start();
    await redisson.tryLock(redis.admin, 'busy');
    expect((await app.request('/products/busy')).status).toBe(423);
    const skipped = await app.request('/products/skip');
    expect([skipped.status, await skipped.text()]).toEqual([200, '']);
    expect(await (await app.request('/products/answer')).text()).toBe('answer LOCK_TIMEOUT');
  });

  it('releases when the handler fails, and lets other handlers pass', async () => {
    const app = await apps.start({
      controllers: [Products],
      providers: [{ provide: APP_INTERCEPTOR, useClass: LockInterceptor }],
    });
    expect((await app.request('/products/fails')).status).toBe(500);
    expect(await redis.admin.exists('fails')).toBe(0);
    expect(await (await app.request('/products/free')).text()).toBe('free');
    // Twice around the same handler, it re-enters its own lock.
    expect(await (await app.request('/products/sync')).text()).toBe('sync');
  });

  it('refuses a template where the request did not come by HTTP', async () => {
    @Injectable()
    class Bot {
      @Get()
      @WithLock('product_<params.id>', { via: 'interceptor' })
      async handle(): Promise<void> {
        await Promise.resolve();
      }
    }
    const app = await apps.start({ providers: [Bot] });
    const bot = app.nest.get(Bot);
    const handler = app.nest
      .get(ExternalContextCreator)
      .create(
        bot,
        bot.handle,
        'handle',
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        'rpc',
      );
    await expect(handler()).rejects.toThrow(LockConfigurationError);
    await expect(handler()).rejects.toThrow('make the key a function of the context');
  });
});

describe('an application does not start', () => {
  it('when the method is no handler, so that no interceptor would run', async () => {
    @Injectable()
    class Service {
      @WithLock('x', { via: 'interceptor' })
      async run(): Promise<void> {
        await Promise.resolve();
      }
    }
    @Injectable()
    class Jobs {
      @Cron('0 0 1 1 *')
      @WithLock('x', { via: 'interceptor' })
      async run(): Promise<void> {
        await Promise.resolve();
      }
    }
    for (const provider of [Service, Jobs]) {
      const starting = apps.start({ imports: [ScheduleModule.forRoot()], providers: [provider] });
      await expect(starting).rejects.toThrow(LockConfigurationError);
      await expect(starting).rejects.toThrow('this method is none');
    }
  });

  it('when another decorator has replaced the method, so that none would run', async () => {
    const Forgetful: MethodDecorator = (_target, _property, descriptor) => {
      const original = descriptor.value as (...args: unknown[]) => unknown;
      const replaced = (...args: unknown[]) => original(...args);
      descriptor.value = replaced as typeof descriptor.value & object;
    };
    @Controller()
    class Replaced {
      @Get()
      @Forgetful
      @WithLock('x', { via: 'interceptor' })
      async get(): Promise<void> {
        await Promise.resolve();
      }
    }
    const starting = apps.start({ controllers: [Replaced] });
    await expect(starting).rejects.toThrow(LockConfigurationError);
    await expect(starting).rejects.toThrow('on Replaced.get: a decorator above replaced');
  });

  it('without the module', async () => {
    @Controller()
    @UseInterceptors(LockInterceptor)
    class Plain {
      @Get()
      async get(): Promise<void> {
        await Promise.resolve();
      }
    }
    for (const controller of [Products, Plain]) {
      @Module({ controllers: [controller] })
      class App {}
      await expect(NestFactory.create(App, SILENT).then((app) => app.init())).rejects.toThrow(
        'RedisLockModule.forRoot()',
      );
    }
  });
});
