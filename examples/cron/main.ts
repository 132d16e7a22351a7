import 'reflect-metadata';

import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { CronLock, RedisLockModule } from 'nestjs-redis-lock';
import { setTimeout as pause } from 'node:timers/promises';

@Injectable()
class Reports {
  @Cron('* * * * * *') // each second, in every instance
  @CronLock('report', { per: 1_000, atMostMs: 30_000 }) // one instance runs it
  async write(): Promise<void> {
    console.log(`writes the report of ${new Date().toISOString().slice(11, 19)}`);
    await pause(100); // your work
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    RedisLockModule.forRoot({ connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
  ],
  providers: [Reports],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM releases the locks
console.log('waits for the next second');
