import { Injectable } from '@nestjs/common';
import { CurrentLock } from 'nestjs-redis-lock';
import { SaleLedger } from './sale-ledger.js';

@Injectable()
export class CancellationService {
  constructor(private readonly ledger: SaleLedger) {}

  /** Puts the piece back; resolves with what is in stock then. The caller holds the product's lock. */
  async cancel(productId: string, buyer: string): Promise<number | null> {
    const lease = CurrentLock.lease();
    const [stock, hasOrdered] = await Promise.all([
      this.ledger.stockOf(productId),
      this.ledger.hasOrdered(productId, buyer),
    ]);
    if (stock === null || !hasOrdered) return null;
    lease.assertHeld();
    await this.ledger.recordCancellation(productId, buyer, stock + 1);
    return stock + 1;
  }
}
