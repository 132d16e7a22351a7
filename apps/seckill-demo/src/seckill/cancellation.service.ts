import { Injectable } from '@nestjs/common';
import { CurrentLock } from 'nestjs-redis-lock';
import { SaleLedger } from './sale-ledger.js';

@Injectable()
export class CancellationService {
  constructor(private readonly ledger: SaleLedger) {}

  /** Puts the piece back; resolves with what is in stock then. The caller holds the product's lock. */
  async cancel(productId: string, buyer: string): Promise<number | null> {
    const lease = CurrentLock.lease();
    const seen = await this.ledger.lookUp(productId, buyer);
    if (seen === null || !seen.hasOrdered) return null;
    const remaining = seen.stock + 1;
    lease.assertHeld();
    await this.ledger.recordCancellation(productId, buyer, remaining);
    return remaining;
  }
}
