import { Inject, Injectable } from '@nestjs/common';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import type { OrderOutcome } from '../seckill/order-outcome.js';
import { SaleLedger } from '../seckill/sale-ledger.js';
import { Sale } from '../seckill/sale.js';
import type { Strategy } from './strategy.js';

/**
 * After the tutorial: no lock in Redis. The database takes one piece if one is left, and stores the
 * order in the same transaction. This is enough for work on one row, but not for work across
 * several systems. The row is locked until the commit: slow work makes all others wait.
 */
@Injectable()
export class SqlUpdateStrategy implements Strategy {
  constructor(
    @Inject(GATE) private readonly gate: Gate,
    @Inject(DATABASE) private readonly db: Database,
    private readonly ledger: SaleLedger,
    private readonly sale: Sale,
  ) {}

  async order(productId: string, buyer: string): Promise<OrderOutcome> {
    await this.gate.reach('before-read');
    const remaining = await this.db.transaction().execute(async (transaction) => {
      const product = await transaction
        .updateTable('products')
        .set((row) => ({ stock: row('stock', '-', 1) }))
        .where('id', '=', productId)
        .where('stock', '>', 0)
        .returning('stock')
        .executeTakeFirst();
      if (product === undefined) return undefined;
      await this.gate.reach('lock-set');
      await this.gate.reach('before-write');
      await this.ledger.within(transaction).addOrder(productId, buyer, product.stock);
      await this.gate.reach('before-delete');
      return product.stock;
    });
    if (remaining === undefined) return this.sale.refusal(productId, buyer);
    await this.gate.reach('after-write');
    return this.sale.sold(remaining);
  }
}
