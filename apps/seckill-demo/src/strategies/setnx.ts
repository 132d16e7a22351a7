import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS } from '../settings.js';
import type { Strategy } from './strategy.js';

/**
 * Lesson 3: SETNX. All processes see the key. A buyer that does not get it gives up at once, even if
 * there is stock. If the holder dies, the key is never deleted.
 */
@Injectable()
export class SetnxStrategy implements Strategy {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    private readonly keys: SaleKeys,
    private readonly sale: Sale,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const lockKey = this.keys.lock(productId);
    if ((await this.redis.setnx(lockKey, '123')) === 0) return this.sale.busy();
    await this.gate.reach('lock-set');
    try {
      return await this.sale.sellOne(productId, buyer);
    } finally {
      await this.gate.reach('before-delete');
      await this.redis.del(lockKey);
    }
  }
}
