import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS, TUTORIAL_LEASE_SECONDS } from '../settings.js';
import type { Strategy } from './strategy.js';

/**
 * Lesson 4, first try: SETNX, then EXPIRE. The key of a dead holder now expires, unless the holder
 * dies between the two commands.
 */
@Injectable()
export class SetnxExpireStrategy implements Strategy {
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
    await this.redis.expire(lockKey, TUTORIAL_LEASE_SECONDS);
    try {
      return await this.sale.sellOne(productId, buyer);
    } finally {
      await this.gate.reach('before-delete');
      await this.redis.del(lockKey);
    }
  }
}
