import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-lock';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [
    RedisLockModule.forRoot({ connection: String(process.env.REDIS_URL), logAcquisitions: true }),
  ],
  controllers: [OrdersController],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
export class AppModule {}
