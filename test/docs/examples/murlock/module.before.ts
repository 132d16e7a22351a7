import { Module } from '@nestjs/common';
import { MurLockModule } from 'murlock';

@Module({
  imports: [
    MurLockModule.forRoot({
      redisOptions: { url: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' },
      wait: 100, // before the second attempt; 200 before the third, and so on
      maxAttempts: 10,
      logLevel: 'error',
    }),
  ],
})
export class AppModule {}
