import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Param,
  ParseIntPipe,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type MiddlewareConsumer,
  type NestInterceptor,
  type NestModule,
  type PipeTransform,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  CurrentLock,
  LockExceptionFilter,
  RedisLockModule,
  WithLock,
  type LockNestingError,
} from 'nestjs-redis-lock';
import { tap, type Observable } from 'rxjs';
import { redisson, useRealRedis } from '../../support/set-up.js';
import { SILENT, useApplications, type RunningApp } from '../applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

/** Where a request came past, and which locks there were then. */
const passed: string[] = [];

async function pass(place: string): Promise<void> {
  passed.push([place, ...(await redis.keys())].join(' '));
}

@Injectable()
class Guard implements CanActivate {
  async canActivate(): Promise<boolean> {
    await pass('guard');
    return true;
  }
}

@Injectable()
class Interceptor implements NestInterceptor {
  readonly name: string = 'interceptor';

  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await pass(this.name);
    return next.handle().pipe(tap(() => passed.push('answer')));
  }
}

class Above extends Interceptor {
  override readonly name = 'above';
}

class Below extends Interceptor {
  override readonly name = 'below';
}

@Injectable()
class Pipe implements PipeTransform {
  async transform(value: unknown): Promise<unknown> {
    await pass('pipe');
    return value;
  }
}

/** As those of the packages for databases: it commits when the method has ended. */
const Transactional = (_: object, __: string, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
  descriptor.value = async function (this: unknown, ...args: unknown[]) {
    const result = await method.apply(this, args);
    await pass('commit');
    return result;
  };
};

@Controller()
@UseGuards(Guard)
@UseInterceptors(Interceptor)
@UsePipes(Pipe)
class Products {
  @Get('method/:id')
  @WithLock('product_<id>')
  async byMethod(@Param('id', ParseIntPipe) id: number): Promise<string> {
    await pass('handler');
    return CurrentLock.lease().name;
  }

  @Get('interceptor/:id')
  @WithLock('product_<params.id>', { via: 'interceptor' })
  async byInterceptor(@Param('id', ParseIntPipe) id: number): Promise<string> {
    await pass('handler');
    return CurrentLock.lease().name;
  }

  @Get('among/:id')
  @UseInterceptors(Above)
  @WithLock('product_<params.id>', { via: 'interceptor' })
  @UseInterceptors(Below)
  async among(): Promise<void> {
    await pass('handler');
  }

  @Get('outside/:id')
  @WithLock('product_<id>')
  @Transactional
  async outside(@Param('id') id: string): Promise<void> {
    await pass('handler');
  }

  @Get('inside/:id')
  @Transactional
  @WithLock('product_<id>')
  async inside(@Param('id') id: string): Promise<void> {
    await pass('handler');
  }

  @Get('busy/:id')
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async busyMethod(@Param('id') id: string): Promise<string> {
    return id;
  }

  @Get('busy-interceptor/:id')
  @WithLock('busy_<params.id>', { via: 'interceptor', waitTimeMs: 0 })
  async busyInterceptor(@Param('id') id: string): Promise<string> {
    return id;
  }
}

class Middleware implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    const note = (_: unknown, __: unknown, next: () => void) => {
      void pass('middleware').then(next);
    };
    consumer.apply(note).forRoutes('*all');
  }
}

const metadata = () => ({
  module: Middleware,
  imports: [RedisLockModule.forRoot({ connection: redis.connection })],
  controllers: [Products],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
});

async function start(platform: string): Promise<RunningApp> {
  passed.length = 0;
  return apps.add(
    platform === 'Fastify'
      ? await NestFactory.create(metadata(), new FastifyAdapter(), SILENT)
      : await NestFactory.create(metadata(), SILENT),
  );
}

describe.each(['Express', 'Fastify'])('%s', (platform) => {
  it('comes to the lock after the pipes, or after the guards via the interceptor', async () => {
    const app = await start(platform);
    const get = async (path: string) => (await app.request(path)).text();
    expect(await get('/method/007')).toBe('product_7');
    expect(passed.splice(0)).toEqual(
      'middleware,guard,interceptor,pipe,handler product_7,answer'.split(','),
    );
    expect(await get('/interceptor/007')).toBe('product_007');
    expect(passed.splice(0)).toEqual(
      'middleware,guard,interceptor,pipe product_007,handler product_007,answer'.split(','),
    );
    expect(await redis.admin.exists('product_007')).toBe(0);
    // Nest enters the interceptors of a method from the lowest decorator to the highest.
    await get('/among/7');
    expect(passed.splice(0)).toEqual(
      expect.arrayContaining(['interceptor', 'below', 'above product_7', 'handler product_7']),
    );
  });

  it('answers a busy request with 423 and Retry-After, whatever takes the lock', async () => {
    const app = await start(platform);
    await redisson.tryLock(redis.admin, 'busy_7', 20_000);
    for (const path of ['/busy/7', '/busy-interceptor/7']) {
      const response = await app.request(path);
      expect(response.status).toBe(423);
      expect(response.headers.get('retry-after')).toBe('1');
      expect(await response.json()).toMatchObject({ statusCode: 423, code: 'LOCK_TIMEOUT' });
    }
    expect(await (await app.request('/busy/8')).text()).toBe('8');
  });

  it('commits under the lock where the lock stands above the transaction', async () => {
    const app = await start(platform);
    await app.request('/outside/7');
    expect(passed.splice(0)).toContain('commit product_7');
    await app.request('/inside/7');
    expect(passed).toEqual(expect.arrayContaining(['handler product_7', 'commit']));
  });
});

describe('nesting: "refuse"', () => {
  it.each(['method', 'interceptor'] as const)(
    'names the places of decorated methods, via the %s',
    async (via) => {
      const refused: LockNestingError[] = [];
      const refuses = (error: unknown) => refused.push(error as LockNestingError);

      @Injectable()
      class Stock {
        @WithLock('a')
        async take(): Promise<void> {
          await this.look().catch(refuses);
        }

        @WithLock('a')
        async look(): Promise<void> {}
      }

      @Controller()
      class Shop {
        constructor(private readonly stock: Stock) {}

        @Get('outer')
        @WithLock('a', { via: via as 'method', label: 'outer' })
        async outer(): Promise<void> {
          await this.stock.look().catch(refuses);
        }

        @Get('inner')
        async inner(): Promise<void> {
          await this.stock.take();
        }
      }

      const app = await apps.start(
        { controllers: [Shop], providers: [Stock] },
        { nesting: 'refuse' },
      );
      for (const path of ['/outer', '/inner']) await app.request(path);
      const here: unknown = expect.stringContaining('/test/nest/contexts/http.spec.ts:');
      expect(refused).toMatchObject([
        { acquiredAt: 'under the label "outer"', calledAt: here },
        { acquiredAt: here, calledAt: here },
      ]);
    },
  );
});
