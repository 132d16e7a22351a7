import { Inject, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithReadLock, WithWriteLock } from 'nestjs-redis-lock';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { SaleLedger } from '../seckill/sale-ledger.js';
import { StockService } from '../seckill/stock.service.js';

export interface Offer {
  /** In cents. */
  readonly price: number;
  readonly stock: number;
}

/**
 * Price and stock belong together. They are written and read one after the other, as if they were
 * in two systems. Any number of readers may read them at once; a writer works alone.
 */
@Injectable()
export class OfferService {
  constructor(
    private readonly ledger: SaleLedger,
    private readonly stocks: StockService,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  @WithWriteLock('offer_<id>')
  async change(@LockKey('id') productId: string, { price, stock }: Offer): Promise<void> {
    CurrentLock.lease().assertHeld();
    await this.ledger.setPrice(productId, price);
    CurrentLock.lease().assertHeld();
    await this.stocks.openSale(productId, stock);
  }

  @WithReadLock('offer_<id>')
  read(@LockKey('id') productId: string): Promise<Offer | null> {
    return this.readUnlocked(productId);
  }

  /** The wrong way: the offer may change between the two reads. */
  async readUnlocked(productId: string): Promise<Offer | null> {
    const price = await this.ledger.priceOf(productId);
    await this.gate.reach('between-reads');
    const stock = await this.ledger.stockOf(productId);
    return price === null || stock === null ? null : { price, stock };
  }
}
