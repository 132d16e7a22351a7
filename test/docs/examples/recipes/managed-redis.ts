import { Module } from '@nestjs/common';
import { RedisLockModule } from 'nestjs-redis-lock';

@Module({
  imports: [
    RedisLockModule.forRoot({
      // rediss://user:password@name.provider.example:6379
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
      keyPrefix: 'app:', // as in the user's ACL rules
    }),
  ],
})
export class LocksModule {}
