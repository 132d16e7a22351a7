import { Inject, Injectable } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import type { Lease } from 'nestjs-redis-lock';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { overtaken } from '../seckill/fence.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleLedger } from '../seckill/sale-ledger.js';
import type { SaleBook } from '../seckill/sale-ledger.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * Lesson 8: each holder gets a higher number than the holder before. The database refuses
 * a lower number than it has seen. An order shows its number before it reads, so that no older
 * holder writes after that. It does not call assertHeld(), because a process may freeze right
 * after the call. The fence stops such a process as well.
 */
@Injectable()
export class FencedStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    @Inject(DATABASE) private readonly db: Database,
    private readonly locks: LockService,
    private readonly ledger: SaleLedger,
    private readonly sale: Sale,
  ) {}

  order(productId: string, buyer: string): Promise<OrderOutcome> {
    const sell = async (lease: Lease): Promise<OrderOutcome> => {
      await this.gate.reach('lock-set');
      const book = this.#behindTheFence(String(lease.fencingToken));
      const outcome = await this.sale.sellOne(productId, buyer, { book });
      await this.gate.reach('before-delete');
      return outcome;
    };
    return this.locks.using(`product_${productId}`, sell, { fenced: true });
  }

  #behindTheFence(token: string): SaleBook {
    return {
      // Noted before the read: otherwise an older holder could still write after it.
      lookUp: async (productId, buyer) => {
        await this.#write(this.db, productId, { fence: token });
        return this.ledger.lookUp(productId, buyer);
      },
      recordSale: (productId, buyer, remaining) =>
        this.db.transaction().execute(async (transaction) => {
          await this.#write(transaction, productId, { stock: remaining, fence: token });
          await this.ledger.within(transaction).addOrder(productId, buyer, remaining);
        }),
    };
  }

  async #write(
    db: Database,
    productId: string,
    values: { stock?: number; fence: string },
  ): Promise<void> {
    const written = await db
      .updateTable('products')
      .set(values)
      .where('id', '=', productId)
      .where('fence', '<=', values.fence)
      .returning('id')
      .executeTakeFirst();
    if (written === undefined) throw await overtaken(db, productId, values.fence);
  }
}
