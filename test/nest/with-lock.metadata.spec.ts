import { describe, expect, it } from '@jest/globals';
import {
  applyDecorators,
  Controller,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  SetMetadata,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { ApiOperation, ApiResponse, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { WithLock } from 'nestjs-redis-lock';
import { map } from 'rxjs';
import { eventually, useRealRedis } from '../support/set-up.js';
import { useApplications } from './applications.js';

class Deny implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

class Allow implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

const Roles = Reflector.createDecorator<string[]>();

@Injectable()
class AdminsOnly implements CanActivate {
  readonly #reflector = new Reflector();

  canActivate(context: ExecutionContext): boolean {
    const roles = this.#reflector.get(Roles, context.getHandler()) as string[] | undefined;
    return roles === undefined ? true : roles.includes('guest');
  }
}

class Wrap implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((value: unknown) => ({ wrapped: value })));
  }
}

const redis = useRealRedis();
const apps = useApplications(redis);

describe('a guard', () => {
  @Controller()
  class Guarded {
    @Get('below')
    @WithLock('guarded')
    @UseGuards(Deny)
    async below(): Promise<string> {
      return 'public';
    }

    @UseGuards(Deny)
    @WithLock('guarded')
    @Get('above')
    async above(): Promise<string> {
      return 'public';
    }

    @WithLock('guarded')
    @UseGuards(Deny)
    @Get('top')
    async top(): Promise<string> {
      return 'public';
    }

    @UseGuards(Allow)
    @WithLock('guarded')
    @UseGuards(Deny)
    @Get('both')
    async both(): Promise<string> {
      return 'public';
    }

    @Get('composed')
    @applyDecorators(WithLock('guarded') as MethodDecorator, UseGuards(Deny))
    async composed(): Promise<string> {
      return 'public';
    }

    @WithLock('guarded')
    @UseGuards(AdminsOnly)
    @Roles(['admin'])
    @Get('roles')
    async roles(): Promise<string> {
      return 'public';
    }

    @Get('interceptor')
    @WithLock('guarded', { via: 'interceptor' })
    @UseGuards(Deny)
    async interceptor(): Promise<string> {
      return 'public';
    }
  }

  it.each(['below', 'above', 'top', 'both', 'composed', 'roles', 'interceptor'])(
    'denies, and no lock is taken: %s',
    async (path) => {
      const app = await apps.start({ controllers: [Guarded] });
      const commands = await redis.commandsDuring(async () => {
        expect((await app.request(`/${path}`)).status).toBe(403);
      });
      expect(commands).not.toHaveProperty('evalsha');
    },
  );
});

describe('the metadata of a method', () => {
  @Controller('orders')
  class Orders {
    @WithLock('order_<id>')
    @Get('top/:id')
    @HttpCode(202)
    @Header('x-order', 'yes')
    @UseInterceptors(Wrap)
    async top(@Param('id', ParseIntPipe) id: number): Promise<number> {
      return id;
    }

    @Get('bottom/:id')
    @HttpCode(202)
    @Header('x-order', 'yes')
    @UseInterceptors(Wrap)
    @WithLock('order_<id>')
    async bottom(@Param('id', ParseIntPipe) id: number): Promise<number> {
      return id;
    }

    @UseInterceptors(Wrap)
    @HttpCode(202)
    @WithLock('order_<id>')
    @Get('middle/:id')
    @Header('x-order', 'yes')
    async middle(@Param('id', ParseIntPipe) id: number): Promise<number> {
      return id;
    }
  }

  it.each(['top', 'bottom', 'middle'])('is kept: %s', async (path) => {
    const app = await apps.start({ controllers: [Orders] });
    const response = await app.request(`/orders/${path}/007`);
    expect(response.status).toBe(202);
    expect(response.headers.get('x-order')).toBe('yes');
    expect(await response.json()).toEqual({ wrapped: 7 });
    expect((await app.request(`/orders/${path}/seven`)).status).toBe(400);
  });

  it('is found by those who look at the function only, and properties are', () => {
    const tagged: MethodDecorator = (_, __, descriptor) => {
      Reflect.defineMetadata('own', 'metadata', descriptor.value as object);
      Object.assign(descriptor.value as object, { tag: 'property' });
    };
    class Tagged {
      @WithLock('x')
      @tagged
      @SetMetadata('set', 1)
      async buy(id: string, count: number, note = ''): Promise<void> {
        await Promise.resolve();
      }
    }
    const method = Tagged.prototype.buy;
    expect(Reflect.getOwnMetadata('own', method)).toBe('metadata');
    expect(Reflect.getMetadata('set', method)).toBe(1);
    expect(method).toHaveProperty('tag', 'property');
    expect([method.name, method.length]).toEqual(['buy', 2]);
  });

  it('reaches swagger in both orders', async () => {
    @Controller('docs')
    class Documented {
      @WithLock('docs')
      @ApiOperation({ summary: 'locked above' })
      @ApiResponse({ status: 409, description: 'conflict' })
      @Post('above')
      async above(): Promise<void> {
        await Promise.resolve();
      }

      @Post('below')
      @ApiOperation({ summary: 'locked below' })
      @ApiResponse({ status: 409, description: 'conflict' })
      @WithLock('docs')
      async below(): Promise<void> {
        await Promise.resolve();
      }
    }
    const app = await apps.start({ controllers: [Documented] });
    const { paths } = SwaggerModule.createDocument(app.nest, new DocumentBuilder().build());
    for (const side of ['above', 'below']) {
      expect(paths[`/docs/${side}`]?.post).toMatchObject({
        operationId: `Documented_${side}`,
        summary: `locked ${side}`,
        responses: { 409: { description: 'conflict' } },
      });
    }
  });

  it('schedules jobs in both orders, and they run under their locks', async () => {
    const ran: string[] = [];
    @Injectable()
    class Jobs {
      @WithLock('job-above', { waitTimeMs: 0, onBusy: 'skip' })
      @Cron('0 0 1 1 *', { name: 'above' })
      async above(): Promise<void> {
        ran.push(`above ${String(await redis.admin.exists('job-above'))}`);
      }

      @Cron('0 0 1 1 *', { name: 'below' })
      @WithLock('job-below', { waitTimeMs: 0, onBusy: 'skip' })
      async below(): Promise<void> {
        ran.push(`below ${String(await redis.admin.exists('job-below'))}`);
      }
    }
    const app = await apps.start({ imports: [ScheduleModule.forRoot()], providers: [Jobs] });
    const jobs = app.nest.get(SchedulerRegistry).getCronJobs();
    expect([...jobs.keys()].sort()).toEqual(['above', 'below']);
    for (const job of jobs.values()) void job.fireOnTick();
    await eventually(() => {
      expect(ran.sort()).toEqual(['above 1', 'below 1']);
    });
  });
});
