import { Inject, Injectable } from '@nestjs/common';
import { FairLockService } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * After the tutorial: the same sale in order of arrival. All buyers of all processes wait in one
 * queue in Redis, from the moment of their request.
 */
@Injectable()
export class FairStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    private readonly fairLocks: FairLockService,
    private readonly sale: Sale,
  ) {}

  order(productId: string, buyer: string): Promise<OrderOutcome> {
    return this.fairLocks.using(`product_${productId}`, async (lease) => {
      await this.gate.reach('lock-set');
      const outcome = await this.sale.sellOne(productId, buyer, {
        assertHeld: () => {
          lease.assertHeld();
        },
      });
      await this.gate.reach('before-delete');
      return outcome;
    });
  }
}
