import type { ColumnType, Generated, Kysely } from 'kysely';

/** An order goes from left to right, and may leave from each of the first three to one of the last. */
export const ORDER_STATES = [
  ...(['queued', 'reserved', 'paying', 'paid'] as const),
  ...(['sold-out', 'expired', 'cancelled'] as const),
] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** These orders have no piece and want none: the buyer may order again. */
export const OVER = ['sold-out', 'expired', 'cancelled'] as const satisfies OrderState[];

/** These orders have taken a piece off the stock. */
export const HAVE_A_PIECE = ['reserved', 'paying', 'paid'] as const satisfies OrderState[];

export const LEDGER_REASONS = ['opened', 'sold', 'cancelled', 'expired'] as const;
export type LedgerReason = (typeof LEDGER_REASONS)[number];

interface ProductTable {
  id: string;
  opening_stock: number;
  stock: number;
  /** In cents. */
  price: number | null;
  /** The newest fencing token that has written; to pg a bigint is a text. */
  fence: Generated<string>;
}

export interface OrderTable {
  id: Generated<string>;
  product_id: string;
  buyer: string;
  state: OrderState;
  /** The stock after this order. */
  remaining: number | null;
  created_at: Generated<Date>;
  /** When it came to its state, of orders that go through the queue. */
  moved_at: Generated<Date>;
  /** Null: there is no hurry. */
  pay_until: Date | null;
}

interface PaymentTable {
  order_id: string;
  paid_at: Generated<Date>;
}

/** Every change of a stock, with its reason: the sum of a product is what should be in stock. */
interface LedgerTable {
  id: Generated<string>;
  product_id: string;
  order_id: string | null;
  change: number;
  reason: LedgerReason;
  at: Generated<Date>;
}

/**
 * The memory of the payment gateway. It plays the database of another company: no row of the shop
 * refers to it, and no transaction of the shop writes to it.
 */
interface GatewayChargeTable {
  /** The shop's name for the payment: the id of an order. */
  reference: string;
  /** `closed`: not charged, and never will be. */
  state: 'charged' | 'closed';
  at: Generated<Date>;
}

/** Whenever the books began to differ in another way, or to agree again. */
interface ReconciliationTable {
  id: Generated<string>;
  at: Generated<Date>;
  /** By its pid. */
  process: number;
  differences: ColumnType<string[], string>;
}

export interface Tables {
  products: ProductTable;
  orders: OrderTable;
  payments: PaymentTable;
  ledger: LedgerTable;
  gateway_charges: GatewayChargeTable;
  reconciliations: ReconciliationTable;
}

/** The shop's tables: by themselves, or as one transaction sees them. */
export type Database = Kysely<Tables>;
