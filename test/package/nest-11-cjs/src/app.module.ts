import { Module } from '@nestjs/common';
import { RedisLockModule } from 'nestjs-redis-lock';
import { OrdersController } from './orders.controller';

@Module({
  imports: [
    RedisLockModule.forRoot({ connection: String(process.env.REDIS_URL), logAcquisitions: true }),
  ],
  controllers: [OrdersController],
})
export class AppModule {}
