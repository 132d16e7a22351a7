import 'reflect-metadata';

import { BullModule, InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedError, type Job, type Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { setTimeout as pause } from 'node:timers/promises';

const redis = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null, // BullMQ needs it
});

@Processor('orders', { concurrency: 5 })
class OrderProcessor extends WorkerHost {
  @WithLock((job: Job<{ product: string }>) => `product_${job.data.product}`, {
    waitTimeMs: 500, // each release hands the lock to a job that waits
    onBusy: async ([job], { retryAfterMs }) => {
      await job.moveToDelayed(Date.now() + Math.min(retryAfterMs, 200), job.token);
      throw new DelayedError(); // the worker takes another job, and no attempt counts
    },
  })
  async process({ data: { product } }: Job<{ product: string }>): Promise<void> {
    const sold = Number(await redis.get(`sold_${product}`)) + 1;
    await pause(50); // your work
    await redis.set(`sold_${product}`, sold); // right only if no other job has written meanwhile
    console.log(`${product}: order ${sold}`);
  }
}

/** In your application another service adds the jobs. */
@Injectable()
class Orders implements OnApplicationBootstrap {
  constructor(@InjectQueue('orders') private readonly queue: Queue) {}

  async onApplicationBootstrap(): Promise<void> {
    const products = ['tea', 'rice', 'tea', 'rice', 'tea', 'rice'];
    await this.queue.addBulk(products.map((product) => ({ name: 'order', data: { product } })));
    console.log(`adds ${products.length} jobs`);
  }
}

@Module({
  imports: [
    BullModule.forRoot({ connection: redis }),
    BullModule.registerQueue({ name: 'orders' }),
    RedisLockModule.forRoot({ connection: redis }),
  ],
  providers: [OrderProcessor, Orders],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM lets the jobs end
