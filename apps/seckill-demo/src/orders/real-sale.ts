import { BullModule } from '@nestjs/bullmq';
import type { ModuleMetadata } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import type { Settings } from '../settings.js';
import { OrderBook } from './order-book.js';
import { OrderDesk } from './order-desk.js';
import { connectQueue, ORDER_QUEUE, OrderQueue, QUEUE_REDIS } from './order-queue.js';
import { OrderProcessor } from './order.processor.js';
import { OrdersController } from './orders.controller.js';
import { Reconciler } from './reconciler.js';
import { ShopBooks } from './shop-books.js';

export type RealSale = Required<Pick<ModuleMetadata, 'imports' | 'controllers' | 'providers'>>;

/** The parts of the shop for orders through the queue. Loaded only on demand: loading takes 0.2 s. */
export function realSale({ redisUrl, keyPrefix }: Settings): RealSale {
  const redis = connectQueue(redisUrl);
  return {
    imports: [
      BullModule.forRoot({ connection: redis, prefix: `${keyPrefix}bull` }),
      BullModule.registerQueue({ name: ORDER_QUEUE }),
      ScheduleModule.forRoot(),
    ],
    controllers: [OrdersController],
    providers: [
      { provide: QUEUE_REDIS, useValue: redis },
      ...[OrderBook, OrderDesk, OrderQueue, OrderProcessor, Reconciler, ShopBooks],
    ],
  };
}
