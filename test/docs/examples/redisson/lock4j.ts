import { ConflictException, Injectable } from '@nestjs/common';
import { WithLock } from 'nestjs-redis-lock';

export interface Order {
  sku: string;
  pieces: number;
}

// RedisLockModule.forRoot({ keyPrefix: 'lock4j:', waitTimeMs: 3_000 })
@Injectable()
export class OrderService {
  @WithLock<[Order]>('stock#<0.sku>', {
    leaseTimeMs: 60_000,
    waitTimeMs: 1_000,
    onBusy: ([order]) => {
      throw new ConflictException(`${order.sku} is busy`);
    },
  })
  async place(order: Order): Promise<string> {
    return `${order.pieces} of ${order.sku}`;
  }
}
