import 'reflect-metadata';

import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-lock';
import { RedisThrottlerModule, RedisThrottlerStorage } from 'nestjs-redis-lock/throttler';
import { serve } from '../support/worker.js';

@Controller()
class Shop {
  @Get('/buy')
  buy(): string {
    return 'sold';
  }

  @Get('/look')
  @Throttle({ default: { limit: 1, ttl: 60_000 } })
  look(): string {
    return 'seen';
  }
}

@Module({})
class App {}

let app: INestApplication | undefined;

const api = {
  /** An application that lets three requests of a visitor in every 10 seconds. */
  start: async (connection: string) => {
    const throttlers = ThrottlerModule.forRootAsync({
      imports: [RedisThrottlerModule.forRoot({ connection: 'limits' })],
      inject: [RedisThrottlerStorage],
      useFactory: (storage: RedisThrottlerStorage) => ({
        throttlers: [{ ttl: 10_000, limit: 3 }],
        storage,
      }),
    });
    const locks = RedisLockModule.forRoot({ name: 'limits', connection });
    const module = {
      module: App,
      imports: [locks, throttlers],
      controllers: [Shop],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    };
    app = await NestFactory.create(module, { logger: false, forceCloseConnections: true });
    app.useGlobalFilters(new LockExceptionFilter());
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },
  close: () => app?.close(),
};
export type Api = typeof api;
serve(api);
