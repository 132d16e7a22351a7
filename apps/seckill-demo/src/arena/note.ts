import type { OrderNotice, ReconciledNotice } from '../orders/order-notice.js';
import type { GatePoint, OrderRef } from '../seckill/gate.js';
import type { LockReported } from './step.js';

/** An event that a process of the shop sends to the arena. `at`: ms since the epoch, by its own clock. */
export type Note = { readonly at: number } & (
  | ({ readonly kind: 'passed'; readonly point: GatePoint } & OrderRef)
  | ({ readonly kind: 'lock' } & Pick<LockReported, 'event' | 'name' | 'reason'> &
      Partial<OrderRef>)
  | ({ readonly kind: 'order' } & OrderNotice)
  | ({ readonly kind: 'reconciled' } & ReconciledNotice)
  | { readonly kind: 'waiters'; readonly waiting: number }
  /** The database has refused the write of a late holder. */
  | { readonly kind: 'stale-refused'; readonly productId: string }
);

/** The product whose stock this lock protects. Undefined: another lock, or none. */
export function lockedProduct(name: string | undefined): string | undefined {
  return name === undefined ? undefined : /product_(\w+)$/.exec(name)?.[1];
}
