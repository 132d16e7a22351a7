import { Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { RedisLockModule } from 'nestjs-redis-lock';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true }),
    RedisLockModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        connection: config.getOrThrow<string>('REDIS_URL'),
        profiles: { checkout: { waitTimeMs: Number(config.get('CHECKOUT_WAIT_MS', 2_000)) } },
      }),
    }),
  ],
})
export class AppModule {}
