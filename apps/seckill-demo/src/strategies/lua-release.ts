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

const RELEASE = /* lua */ `
  if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  return 0
`;

/**
 * Lesson 6: check and delete in one script. It deletes only its own lock. But if the work takes
 * longer than the lease, or the process freezes, two holders sell at the same time.
 */
@Injectable()
export class LuaReleaseStrategy implements Strategy {
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
      await this.gate.reach('before-delete');
      await this.redis.eval(RELEASE, 1, lockKey, clientId);
    }
  }
}
