import { Inject, Injectable } from '@nestjs/common';
import { FairLockService } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * After the tutorial: the same sale in the order of arrival. Every buyer stands in one queue in
 * Redis from the moment of asking, whichever process they came to.
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
