import { Inject, Injectable } from '@nestjs/common';
import { GATE } from './gate.js';
import type { Gate } from './gate.js';
import type { OrderOutcome } from './order-outcome.js';
import { SaleLedger } from './sale-ledger.js';
import type { SaleBook } from './sale-ledger.js';
import { SALE_LOG } from './sale-log.js';
import type { SaleLog } from './sale-log.js';

/** The course of one sale. */
export interface SellOptions {
  /** Called right before the write: a hold may have ended since the read. */
  readonly assertHeld?: () => void;
  /** The source of the stock and the target of the sale: the ledger, or one of its transactions. */
  readonly book?: SaleBook;
}

/**
 * The tutorial's code, the same for every strategy: read the stock, take one, write it back. It is
 * correct for one order at a time only: the strategy has to keep other orders out.
 */
@Injectable()
export class Sale {
  constructor(
    private readonly ledger: SaleLedger,
    @Inject(GATE) private readonly gate: Gate,
    @Inject(SALE_LOG) private readonly log: SaleLog,
  ) {}

  async sellOne(
    productId: string,
    buyer: string,
    { assertHeld, book = this.ledger }: SellOptions = {},
  ): Promise<OrderOutcome> {
    await this.gate.reach('before-read');
    const seen = await book.lookUp(productId, buyer);
    if (seen === null || seen.hasOrdered || seen.stock <= 0) return this.#refusalFor(seen);
    const remaining = seen.stock - 1;
    await this.gate.reach('before-write');
    assertHeld?.();
    await book.recordSale(productId, buyer, remaining);
    await this.gate.reach('after-write');
    return this.sold(remaining);
  }

  sold(remaining: number): OrderOutcome {
    this.log.sold(remaining);
    return { kind: 'sold', remaining };
  }

  /** The reason of a refusal, by the books. */
  async refusal(productId: string, buyer: string): Promise<OrderOutcome> {
    return this.#refusalFor(await this.ledger.lookUp(productId, buyer));
  }

  /** The answer of the stages that do not wait. */
  busy(): OrderOutcome {
    this.log.busy();
    return { kind: 'busy' };
  }

  #refusalFor(seen: Awaited<ReturnType<SaleBook['lookUp']>>): OrderOutcome {
    if (seen === null) return { kind: 'unknown-product' };
    if (seen.hasOrdered) return { kind: 'duplicate' };
    this.log.soldOut();
    return { kind: 'sold-out' };
  }
}
