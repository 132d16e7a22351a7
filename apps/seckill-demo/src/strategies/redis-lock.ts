import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * Stage 8, and the shop's normal path: this library. A buyer waits for the lock instead of going
 * away. A watchdog renews the lease while the work goes on. The write is refused once the hold may
 * be gone.
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
