import { channel } from 'node:diagnostics_channel';
import type { OrderState } from '../database/tables.js';

// Any code in this process may subscribe. Without a subscriber it costs nothing.

/** An order has reached a state, and the database has stored it. */
export interface OrderNotice {
  readonly orderId: string;
  readonly productId: string;
  readonly buyer: string;
  readonly state: OrderState;
  readonly payUntil?: string | undefined;
  /** The stock after an order that got a piece. */
  readonly remaining: number | null;
  /** Whether the buyer waits for this state: a piece, or none. */
  readonly isAnswer: boolean;
  /** The time since the order was placed. */
  readonly ageMs: number;
}

export const orderMoved = channel('seckill-demo:order');

/** A round of the reconciliation has ended. */
export interface ReconciledNotice {
  readonly differences: readonly string[];
}

export const reconciled = channel('seckill-demo:reconciled');

/** The database has refused the write of a holder whose lock another process holds by now. */
export interface StaleNotice {
  readonly productId: string;
}

export const staleRefused = channel('seckill-demo:stale-refused');
