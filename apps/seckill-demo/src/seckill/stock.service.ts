import { Inject, Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LockService } from 'nestjs-redis-lock';
import { REDIS } from '../settings.js';
import { SaleKeys } from './sale-keys.js';
import { SaleLedger } from './sale-ledger.js';
import type { ProductState } from './sale-ledger.js';

@Injectable()
export class StockService {
  constructor(
    private readonly locks: LockService,
    private readonly ledger: SaleLedger,
    @Inject(REDIS) private readonly redis: Redis,
    private readonly keys: SaleKeys,
  ) {}

  /** Opens a new sale and forgets earlier orders. Waits for a sale in progress. */
  async openSale(productId: string, stock: number): Promise<void> {
    await this.locks.using(`product_${productId}`, async (lease) => {
      lease.assertHeld();
      await this.ledger.openSale(productId, stock);
      await this.redis.set(this.keys.stock(productId), stock);
    });
  }

  stateOf(productId: string): Promise<ProductState | null> {
    return this.ledger.stateOf(productId);
  }
}
