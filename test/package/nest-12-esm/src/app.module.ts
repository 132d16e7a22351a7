import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-lock';
import { nodeRedis } from 'nestjs-redis-lock/node-redis';
import { createClient } from 'redis';
import { OrdersController } from './orders.controller.js';

const client = createClient({ url: String(process.env.REDIS_URL) });

@Module({
  imports: [RedisLockModule.forRoot({ connection: nodeRedis(client), logAcquisitions: true })],
  controllers: [OrdersController],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
export class AppModule {}
