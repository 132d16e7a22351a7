import 'reflect-metadata';

import { Controller, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { LockExceptionFilter, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { setTimeout as pause } from 'node:timers/promises';

@Controller('products')
class ProductController {
  @Post(':id/orders')
  @WithLock('product_<id>', { waitTimeMs: 500 }) // waits for half a second, then rejects
  async buy(@Param('id') id: string): Promise<string> {
    console.log(`product ${id}: an order begins`);
    await pause(3_000); // your work
    console.log(`product ${id}: the order ends`);
    return `sold one of product ${id}`;
  }
}

@Module({
  imports: [
    RedisLockModule.forRoot({ connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
  ],
  controllers: [ProductController],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }], // 423 with Retry-After
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM releases the locks
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`listens on ${await app.getUrl()}`);
