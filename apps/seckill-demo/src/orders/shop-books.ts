import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { DATABASE } from '../database/open-database.js';
import { HAVE_A_PIECE } from '../database/tables.js';
import type { Database, OrderState } from '../database/tables.js';

interface ProductLine {
  readonly id: string;
  readonly stock: number;
  readonly opening_stock: number;
  readonly ledger: number;
}

/** A group of orders that are equal in all compared fields, and their number. */
interface OrderLine {
  readonly product_id: string;
  readonly state: OrderState;
  /** False: the tutorial sold it, not the queue. */
  readonly is_queued: boolean;
  readonly ledger: number;
  readonly is_recorded: boolean;
  readonly charge: 'charged' | 'closed' | null;
  readonly count: number;
}

/** Compares stock, orders, payments, ledger and the charges of the gateway. */
@Injectable()
export class ShopBooks {
  constructor(@Inject(DATABASE) private readonly db: Database) {}

  /**
   * All differences at one moment. Compares only products with orders through the queue: stages of
   * the tutorial break the books of their products on purpose.
   */
  differences(): Promise<string[]> {
    return this.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(async (snapshot) => {
        const products = await productLines(snapshot);
        const orders = await orderLines(
          snapshot,
          products.map(({ id }) => id),
        );
        return [
          ...products.flatMap((product) => wrongOf(product, orders)),
          ...orders.flatMap((order) => wrongOfOrders(order)),
        ].sort();
      });
  }
}

function productLines(db: Database): Promise<ProductLine[]> {
  return db
    .selectFrom('products')
    .select((eb) => [
      ...(['id', 'stock', 'opening_stock'] as const),
      eb
        .selectFrom('ledger')
        .select(sql<number>`coalesce(sum(change), 0)::int`.as('sum'))
        .whereRef('ledger.product_id', '=', 'products.id')
        .$asScalar()
        .$notNull()
        .as('ledger'),
    ])
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('orders')
        .select('product_id')
        .where(sql<boolean>`state IN ('queued', 'sold-out') OR pay_until IS NOT NULL`),
    )
    .execute();
}

function orderLines(db: Database, products: readonly string[]): Promise<OrderLine[]> {
  if (products.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('orders')
    .leftJoin(
      (eb) =>
        eb
          .selectFrom('ledger')
          .select(['order_id', sql<number>`sum(change)::int`.as('sum')])
          .groupBy('order_id')
          .as('entries'),
      (join) => join.onRef('entries.order_id', '=', 'orders.id'),
    )
    .leftJoin('payments', 'payments.order_id', 'orders.id')
    .leftJoin('gateway_charges', (join) =>
      join.on(sql<boolean>`gateway_charges.reference = orders.id::text`),
    )
    .select([
      ...(['orders.product_id', 'orders.state', 'gateway_charges.state as charge'] as const),
      sql<boolean>`pay_until IS NOT NULL`.as('is_queued'),
      sql<number>`coalesce(entries.sum, 0)`.as('ledger'),
      sql<boolean>`payments.order_id IS NOT NULL`.as('is_recorded'),
      sql<number>`count(*)::int`.as('count'),
    ])
    .where('orders.product_id', 'in', products)
    .groupBy(['orders.product_id', 'orders.state', 'charge', 'is_queued', 'ledger', 'is_recorded'])
    .execute();
}

function wrongOf(product: ProductLine, lines: readonly OrderLine[]): string[] {
  const { id, stock, opening_stock: opening, ledger } = product;
  const sold = lines
    .filter(({ product_id, state }) => product_id === id && hasPiece(state))
    .reduce((sum, { count }) => sum + count, 0);
  const wrong = [];
  if (stock !== ledger) wrong.push(`product ${id}: ${stock} in stock, ${ledger} in the ledger`);
  if (stock !== opening - sold) {
    wrong.push(`product ${id}: ${stock} in stock, ${opening} at the opening, ${sold} ordered`);
  }
  return wrong;
}

function wrongOfOrders(orders: OrderLine): string[] {
  const { product_id: id, state, is_queued, ledger, is_recorded, charge, count } = orders;
  const them = `product ${id}: ${count} of its orders (${state})`;
  const pieces = hasPiece(state) ? -1 : 0;
  const wrong = [];
  if (ledger !== pieces) wrong.push(`${them} with ${ledger} instead of ${pieces} in the ledger`);
  if (is_recorded !== (state === 'paid')) {
    wrong.push(`${them} ${is_recorded ? 'with' : 'without'} a payment`);
  }
  if (state === 'paid' && is_queued && charge !== 'charged') {
    wrong.push(`${them} not charged`);
  }
  // An order that is just being paid may have been charged a moment before the shop notes it.
  if (charge === 'charged' && !hasPiece(state)) wrong.push(`${them} charged`);
  return wrong;
}

function hasPiece(state: OrderState): boolean {
  return (HAVE_A_PIECE as readonly OrderState[]).includes(state);
}
