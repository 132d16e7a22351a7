import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { OrderRefusedError } from '../seckill/order-outcome.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleKeys } from '../seckill/sale-keys.js';
import { Sale } from '../seckill/sale.js';
import { REDIS, SETTINGS } from '../settings.js';
import type { Settings } from '../settings.js';
import type { Strategy } from './strategy.js';

/**
 * Another library: `redis-semaphore` 5, its mutex. It refreshes its lock while the work runs.
 * `isAcquired` shows whether that still succeeds. A buyer retries every 10 ms.
 */
@Injectable()
export class RedisSemaphoreStrategy implements Strategy {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(GATE) private readonly gate: Gate,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly keys: SaleKeys,
    private readonly sale: Sale,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    const mutex = new Mutex(this.redis, this.keys.lock(productId), {
      lockTimeout: this.settings.leaseTimeMs,
      acquireTimeout: this.settings.waitTimeMs,
      // By default it throws where no code can catch it; the write checks the lock instead.
      onLockLost: () => undefined,
    });
    if (!(await mutex.tryAcquire())) return this.sale.busy();
    try {
      await this.gate.reach('lock-set');
      return await this.sale.sellOne(productId, buyer, {
        assertHeld: () => {
          if (!mutex.isAcquired) throw new OrderRefusedError({ kind: 'lease-lost' });
        },
      });
    } finally {
      await this.gate.reach('before-delete');
      await mutex.release();
    }
  }
}
