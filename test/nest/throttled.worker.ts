import 'reflect-metadata';

import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core';
import {
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  ThrottlerStorageService,
} from '@nestjs/throttler';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-lock';
import { RedisThrottlerModule, RedisThrottlerStorage } from 'nestjs-redis-lock/throttler';
import { serve } from '../support/worker.js';
import type { Visit } from './visits.js';

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
      providers: [
        { provide: APP_GUARD, useClass: ThrottlerGuard },
        { provide: APP_FILTER, useClass: LockExceptionFilter },
      ],
    };
    app = await NestFactory.create(module, { logger: false, forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },
  /** Throttler's own storage answers this, by a clock that is put forward. */
  answersOfTheirs: async (visits: Visit[]) => {
    const storage = new ThrottlerStorageService();
    const { now } = Date;
    let passedMs = 0;
    Date.now = () => now() + passedMs;
    const answers = [];
    for (const { afterMs, ttl, limit, block } of visits) {
      passedMs += afterMs;
      answers.push(await storage.increment('visitor', ttl, limit, block, 'default'));
    }
    Date.now = now;
    storage.onApplicationShutdown();
    return answers;
  },
  close: () => app?.close(),
};
export type Api = typeof api;
serve(api);
