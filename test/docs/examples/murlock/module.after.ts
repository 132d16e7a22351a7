import { Module } from '@nestjs/common';
import { RedisLockModule } from 'nestjs-redis-lock';

@Module({
  imports: [
    RedisLockModule.forRoot({
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
      waitTimeMs: 5_000,
    }),
  ],
})
export class AppModule {}
