import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * Lesson 7, and the shop's normal path: this library. A buyer waits for the lock and does not leave.
 * A watchdog renews the lease while the work runs. If the hold may be lost, assertHeld() prevents
 * the write.
 */
@Injectable()
export class RedisLockStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    private readonly sale: Sale,
  ) {}

  @WithLock('product_<id>')
  async order(@LockKey('id') productId: string, buyer: string): Promise<OrderOutcome> {
    const lease = CurrentLock.lease();
    await this.gate.reach('lock-set');
    const outcome = await this.sale.sellOne(productId, buyer, {
      assertHeld: () => {
        lease.assertHeld();
      },
    });
    await this.gate.reach('before-delete');
    return outcome;
  }
}
