import type { Transaction } from 'kysely';
import type { Tables } from '../database/tables.js';
import { SaleLedger } from './sale-ledger.js';
import type { SaleBook } from './sale-ledger.js';

/**
 * A transaction like those of Hibernate and MikroORM. It reads at once, keeps the writes back, and
 * sends them right before the commit.
 */
export class UnitOfWork implements SaleBook {
  readonly #ledger: SaleLedger;
  readonly #writes: Array<() => Promise<void>> = [];

  constructor(transaction: Transaction<Tables>) {
    this.#ledger = new SaleLedger(transaction);
  }

  lookUp(productId: string, buyer: string): ReturnType<SaleBook['lookUp']> {
    return this.#ledger.lookUp(productId, buyer);
  }

  recordSale(productId: string, buyer: string, remaining: number): Promise<void> {
    this.#writes.push(() => this.#ledger.recordSale(productId, buyer, remaining));
    return Promise.resolve();
  }

  async flush(): Promise<void> {
    for (const write of this.#writes.splice(0)) await write();
  }
}
