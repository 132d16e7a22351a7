import { setTimeout as pause } from 'node:timers/promises';
import { Controller, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LockExceptionFilter, RedisLockModule, WithLock } from 'nestjs-redis-lock';

@Controller('products')
class ProductController {
  @Post(':id/orders')
  @WithLock('product_<id>', { waitTimeMs: 1_000 }) // waits for a second, then gives up
  async buy(@Param('id') id: string): Promise<string> {
    await pause(5_000); // slow work
    return `sold one of ${id}\n`;
  }
}

@Module({
  imports: [RedisLockModule.forRoot()], // redis://127.0.0.1:6379
  controllers: [ProductController],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
export class AppModule {}
