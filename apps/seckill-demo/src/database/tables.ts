import type { ColumnType, Generated, Kysely } from 'kysely';

/** An order moves from left to right. From each of the first three states it may move to one of the last. */
export const ORDER_STATES = [
  ...(['queued', 'reserved', 'paying', 'paid'] as const),
  ...(['sold-out', 'expired', 'cancelled'] as const),
] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** An order without a piece that needs none: the buyer may order again. */
export const OVER = ['sold-out', 'expired', 'cancelled'] as const satisfies OrderState[];

/** An order that has taken a piece off the stock. */
export const HAVE_A_PIECE = ['reserved', 'paying', 'paid'] as const satisfies OrderState[];

export const LEDGER_REASONS = ['opened', 'sold', 'cancelled', 'expired'] as const;
export type LedgerReason = (typeof LEDGER_REASONS)[number];

interface ProductTable {
  id: string;
  opening_stock: number;
  stock: number;
  /** In cents. */
  price: number | null;
  /** The newest fencing token of a write. pg returns a bigint as a string. */
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
  /** The time of its last move, for orders through the queue. */
  moved_at: Generated<Date>;
  /** Null: no deadline. */
  pay_until: Date | null;
}

interface PaymentTable {
  order_id: string;
  paid_at: Generated<Date>;
}

/** Every change of a stock, with its reason. The sum of a product's entries is its correct stock. */
interface LedgerTable {
  id: Generated<string>;
  product_id: string;
  order_id: string | null;
  change: number;
  reason: LedgerReason;
  at: Generated<Date>;
}

/**
 * The memory of the payment gateway. It stands for the database of another company. No row of the
 * shop refers to it, and no transaction of the shop writes to it.
 */
interface GatewayChargeTable {
  /** The shop's name for the payment: the id of an order. */
  reference: string;
  /** `closed`: not charged, and no later attempt can charge. */
  state: 'charged' | 'closed';
  at: Generated<Date>;
}

/** A change in the differences of the books, or their end. */
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

/** The shop's tables, directly or within one transaction. */
export type Database = Kysely<Tables>;
