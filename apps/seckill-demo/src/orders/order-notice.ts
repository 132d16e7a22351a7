import { channel } from 'node:diagnostics_channel';
import type { OrderState } from '../database/tables.js';

/** An order has come to a state, and the database has it. */
export interface OrderNotice {
  readonly orderId: string;
  readonly productId: string;
  readonly buyer: string;
  readonly state: OrderState;
  readonly payUntil: Date | null;
  /** What was left in stock, of an order that got a piece. */
  readonly remaining: number | null;
  /** How long it has been since the order was placed. */
  readonly ageMs: number;
}

/** Anybody in this process may listen: `node:diagnostics_channel` costs nothing when nobody does. */
export const orderMoved = channel('seckill-demo:order');
