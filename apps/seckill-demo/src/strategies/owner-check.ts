import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS, TUTORIAL_LEASE_MS } from '../settings.js';
import type { Strategy } from './strategy.js';

/**
 * Lesson 5: the key contains its owner's UUID, and the owner checks it before the DEL. The lease may
 * still expire between the check and the DEL.
 */
@Injectable()
export class OwnerCheckStrategy implements Strategy {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    private readonly keys: SaleKeys,
    private readonly sale: Sale,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const lockKey = this.keys.lock(productId);
    const clientId = randomUUID();
    const locked = await this.redis.set(lockKey, clientId, 'PX', TUTORIAL_LEASE_MS, 'NX');
    if (locked === null) return this.sale.busy();
    await this.gate.reach('lock-set');
    try {
      return await this.sale.sellOne(productId, buyer);
    } finally {
      if ((await this.redis.get(lockKey)) === clientId) {
        await this.gate.reach('before-delete');
        await this.redis.del(lockKey);
      }
    }
  }
}
