import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ONE_ORDER_EACH } from '../database/migrations.js';
import { DATABASE, isDuplicate } from '../database/open-database.js';
import { HAVE_A_PIECE, OVER } from '../database/tables.js';
import type { Database, LedgerReason, OrderState } from '../database/tables.js';
import { OrderRefusedError } from './order-outcome.js';

export interface ProductState {
  readonly id: string;
  readonly stock: number;
  readonly openingStock: number;
  /** Orders with a piece. */
  readonly orders: number;
  /** All orders, including those without a piece. */
  readonly states: Readonly<Partial<Record<OrderState, number>>>;
}

/** The books that a sale reads and writes. */
export type SaleBook = Pick<SaleLedger, 'lookUp' | 'recordSale'>;

/** The records of the sale in Postgres. It uses no lock. */
@Injectable()
export class SaleLedger {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /** The same records within a transaction. */
  within(transaction: Database): SaleLedger {
    return new SaleLedger(transaction);
  }

  async lookUp(
    productId: string,
    buyer: string,
  ): Promise<{ readonly stock: number; readonly hasOrdered: boolean } | null> {
    const found = await this.db
      .selectFrom('products')
      .leftJoin('orders', (join) =>
        join
          .onRef('orders.product_id', '=', 'products.id')
          .on('orders.buyer', '=', buyer)
          .on('orders.state', 'not in', OVER),
      )
      .select(['products.stock', 'orders.id'])
      .where('products.id', '=', productId)
      .executeTakeFirst();
    return found === undefined ? null : { stock: found.stock, hasOrdered: found.id !== null };
  }

  async stockOf(productId: string): Promise<number | null> {
    return (await this.#product(productId))?.stock ?? null;
  }

  async priceOf(productId: string): Promise<number | null> {
    return (await this.#product(productId))?.price ?? null;
  }

  /**
   * The state of the order that counts; null: none. Leaves out orders of the real sale: they have a
   * time to pay, and move by their id alone.
   */
  async orderStateOf(productId: string, buyer: string): Promise<OrderState | null> {
    const order = await this.db
      .selectFrom('orders')
      .select('state')
      .where('product_id', '=', productId)
      .where('buyer', '=', buyer)
      .where('state', 'not in', ['queued', ...OVER])
      .where('pay_until', 'is', null)
      .executeTakeFirst();
    return order?.state ?? null;
  }

  /** One transaction: a crash cannot take a piece without its order. */
  async recordSale(productId: string, buyer: string, remaining: number): Promise<void> {
    await this.recordSales(new Map([[productId, remaining]]), buyer);
  }

  /** One piece of each product; `remaining` is the stock left of each. */
  async recordSales(remaining: ReadonlyMap<string, number>, buyer: string): Promise<void> {
    await this.#atomically(async (transaction, ledger) => {
      for (const [productId, stock] of remaining) {
        await setStock(transaction, productId, stock);
        await ledger.addOrder(productId, buyer, stock);
      }
    });
  }

  /** Writes the order and its entry; the caller has taken the piece off the stock. */
  async addOrder(productId: string, buyer: string, remaining: number): Promise<void> {
    try {
      const { id } = await this.db
        .insertInto('orders')
        .values({ product_id: productId, buyer, state: 'reserved', remaining, pay_until: null })
        .returning('id')
        .executeTakeFirstOrThrow();
      await this.#note(productId, id, -1, 'sold');
    } catch (error) {
      // Two orders of one buyer came at the same time: both have looked before either has written.
      if (isDuplicate(error, ONE_ORDER_EACH)) throw new OrderRefusedError({ kind: 'duplicate' });
      throw error;
    }
  }

  async recordCancellation(productId: string, buyer: string, remaining: number): Promise<void> {
    await this.#atomically(async (transaction, ledger) => {
      // The product first, as in every transaction: two that began with different rows could
      // wait for each other.
      await setStock(transaction, productId, remaining);
      const order = await transaction
        .updateTable('orders')
        .set({ state: 'cancelled' })
        .where('product_id', '=', productId)
        .where('buyer', '=', buyer)
        .where('state', 'not in', OVER)
        .returning('id')
        .executeTakeFirstOrThrow();
      await ledger.#note(productId, order.id, 1, 'cancelled');
    });
  }

  /** Resolves with false if there is no such order, or no longer. */
  async recordPayment(productId: string, buyer: string): Promise<boolean> {
    return this.#atomically(async (transaction) => {
      const order = await transaction
        .updateTable('orders')
        .set({ state: 'paid' })
        .where('product_id', '=', productId)
        .where('buyer', '=', buyer)
        .where('state', 'in', ['reserved', 'paying'])
        .returning('id')
        .executeTakeFirst();
      if (order === undefined) return false;
      await transaction.insertInto('payments').values({ order_id: order.id }).execute();
      return true;
    });
  }

  async setPrice(productId: string, price: number): Promise<void> {
    await this.db
      .insertInto('products')
      .values({ id: productId, price, stock: 0, opening_stock: 0 })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ price }))
      .execute();
  }

  /** Forgets the earlier orders. The price and the fence stay. */
  async openSale(productId: string, stock: number): Promise<void> {
    const opening = { stock, opening_stock: stock };
    await this.#atomically(async (transaction, ledger) => {
      await transaction
        .insertInto('products')
        .values({ id: productId, price: null, ...opening })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(opening))
        .execute();
      await transaction.deleteFrom('ledger').where('product_id', '=', productId).execute();
      await transaction.deleteFrom('orders').where('product_id', '=', productId).execute();
      await ledger.#note(productId, null, stock, 'opened');
    });
  }

  async stateOf(productId: string): Promise<ProductState | null> {
    const rows = await this.db
      .selectFrom('products')
      .leftJoin('orders', 'orders.product_id', 'products.id')
      .select([
        ...(['products.id', 'stock', 'opening_stock as openingStock', 'state'] as const),
        sql<number>`count(orders.id)::int`.as('count'),
      ])
      .where('products.id', '=', productId)
      .groupBy(['products.id', 'state'])
      .execute();
    const [product] = rows;
    if (product === undefined) return null;
    const states: Partial<Record<OrderState, number>> = {};
    for (const { state, count } of rows) if (state !== null) states[state] = count;
    const orders = HAVE_A_PIECE.reduce((sum, state) => sum + (states[state] ?? 0), 0);
    const { id, stock, openingStock } = product;
    return { id, stock, openingStock, orders, states };
  }

  #product(productId: string) {
    return this.db
      .selectFrom('products')
      .select(['stock', 'price'])
      .where('id', '=', productId)
      .executeTakeFirst();
  }

  async #note(
    productId: string,
    orderId: string | null,
    change: number,
    reason: LedgerReason,
  ): Promise<void> {
    const entry = { product_id: productId, order_id: orderId, change, reason };
    await this.db.insertInto('ledger').values(entry).execute();
  }

  /** Within the present transaction, or in its own. */
  #atomically<T>(work: (transaction: Database, ledger: SaleLedger) => Promise<T>): Promise<T> {
    if (this.db.isTransaction) return work(this.db, this);
    return this.db
      .transaction()
      .execute((transaction) => work(transaction, this.within(transaction)));
  }
}

async function setStock(db: Database, productId: string, stock: number): Promise<void> {
  await db.updateTable('products').set({ stock }).where('id', '=', productId).execute();
}
