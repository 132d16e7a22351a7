import { Injectable } from '@nestjs/common';
import { CurrentLock } from 'nestjs-redis-lock';
import { SaleLedger } from './sale-ledger.js';

@Injectable()
export class CancellationService {
  constructor(private readonly ledger: SaleLedger) {}

  /** Puts the piece back, and resolves with the new stock. The caller holds the product's lock. */
  async cancel(productId: string, buyer: string): Promise<number | null> {
    const lease = CurrentLock.lease();
    if ((await this.ledger.orderStateOf(productId, buyer)) === null) return null;
    const stock = await this.ledger.stockOf(productId);
    if (stock === null) return null;
    const remaining = stock + 1;
    lease.assertHeld();
    await this.ledger.recordCancellation(productId, buyer, remaining);
    return remaining;
  }
}
