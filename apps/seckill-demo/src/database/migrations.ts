import { sql } from 'kysely';
import type { Kysely, Migration } from 'kysely';
import { LEDGER_REASONS, ORDER_STATES, OVER } from './tables.js';

/** The index decides who may order. */
export const ONE_ORDER_EACH = 'orders_one_each';

type Schema = Kysely<unknown>;

const oneOf = (column: string, values: readonly string[]) =>
  sql<boolean>`${sql.ref(column)} IN (${sql.join(values.map((value) => sql.lit(value)))})`;
const notNegative = (column: string) => sql<boolean>`${sql.ref(column)} >= 0`;

async function createProducts(db: Schema): Promise<void> {
  await db.schema
    .createTable('products')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('opening_stock', 'integer', (column) => column.notNull())
    .addColumn('stock', 'integer', (column) => column.notNull())
    .addColumn('price', 'integer')
    .addColumn('fence', 'bigint', (column) => column.notNull().defaultTo(0))
    .addCheckConstraint('products_opening_stock', notNegative('opening_stock'))
    .addCheckConstraint('products_stock', notNegative('stock'))
    .addCheckConstraint('products_price', notNegative('price'))
    .execute();
}

async function createOrders(db: Schema): Promise<void> {
  await db.schema
    .createTable('orders')
    .addColumn('id', 'uuid', (column) => column.primaryKey().defaultTo(sql`gen_random_uuid()`))
    .addColumn('product_id', 'text', (column) => column.notNull().references('products.id'))
    .addColumn('buyer', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('remaining', 'integer')
    .addColumn('created_at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .addColumn('pay_until', 'timestamptz')
    .addCheckConstraint('orders_state', oneOf('state', ORDER_STATES))
    .addCheckConstraint('orders_remaining', notNegative('remaining'))
    .execute();
  await db.schema
    .createIndex(ONE_ORDER_EACH)
    .on('orders')
    .columns(['product_id', 'buyer'])
    .unique()
    .where(sql<boolean>`NOT ${oneOf('state', OVER)}`)
    .execute();
}

async function createPayments(db: Schema): Promise<void> {
  await db.schema
    .createTable('payments')
    .addColumn('order_id', 'uuid', (column) =>
      column.primaryKey().references('orders.id').onDelete('cascade'),
    )
    .addColumn('paid_at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .execute();
}

async function createLedger(db: Schema): Promise<void> {
  await db.schema
    .createTable('ledger')
    .addColumn('id', 'bigint', (column) => column.primaryKey().generatedAlwaysAsIdentity())
    .addColumn('product_id', 'text', (column) => column.notNull().references('products.id'))
    .addColumn('order_id', 'uuid', (column) => column.references('orders.id').onDelete('cascade'))
    .addColumn('change', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .addCheckConstraint('ledger_reason', oneOf('reason', LEDGER_REASONS))
    .execute();
  await db.schema.createIndex('ledger_product').on('ledger').column('product_id').execute();
}

/** For orders through a queue, and for their payments. */
async function prepareRealSale(db: Schema): Promise<void> {
  await db.schema
    .alterTable('orders')
    .addColumn('moved_at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .execute();
  await db.schema
    .createIndex('orders_open')
    .on('orders')
    .column('state')
    .where(oneOf('state', ['queued', 'reserved', 'paying']))
    .execute();
  await db.schema
    .createTable('gateway_charges')
    .addColumn('reference', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .addCheckConstraint('gateway_charges_state', oneOf('state', ['charged', 'closed']))
    .execute();
}

async function createReconciliations(db: Schema): Promise<void> {
  await db.schema
    .createTable('reconciliations')
    .addColumn('id', 'bigint', (column) => column.primaryKey().generatedAlwaysAsIdentity())
    .addColumn('at', 'timestamptz', (column) => column.notNull().defaultTo(sql`now()`))
    .addColumn('process', 'integer', (column) => column.notNull())
    .addColumn('differences', 'jsonb', (column) => column.notNull())
    .execute();
}

/** In the order of their names. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-shop': {
    up: async (db: Schema) => {
      await createProducts(db);
      await createOrders(db);
      await createPayments(db);
      await createLedger(db);
    },
  },
  '002-real-sale': { up: prepareRealSale },
  '003-reconciliations': { up: createReconciliations },
};
