import type { OrderMoved, Reconciled, SaleOpened, Step } from '../../arena/step.js';

/** The sale after the run, which takes commands. A new sale forgets earlier orders. */
export interface SaleState {
  readonly opened: SaleOpened | undefined;
  /** The latest first. */
  readonly orders: readonly OrderMoved[];
  readonly reconciled: (Reconciled & { readonly at: number }) | undefined;
  readonly redis: 'up' | 'paused';
}

export const noSale: SaleState = {
  opened: undefined,
  orders: [],
  reconciled: undefined,
  redis: 'up',
};

const ORDERS_KEPT = 10_000;

export function saleAfter(sale: SaleState, step: Step): SaleState {
  switch (step.kind) {
    case 'sale-opened':
      return { ...noSale, redis: sale.redis, opened: step };
    case 'order':
      return { ...sale, orders: ordersAfter(sale.orders, step) };
    case 'reconciled':
      return { ...sale, reconciled: step };
    case 'struck':
      return step.what.startsWith('redis-')
        ? { ...sale, redis: step.what === 'redis-paused' ? 'paused' : 'up' }
        : sale;
    default:
      return sale;
  }
}

function ordersAfter(orders: readonly OrderMoved[], moved: OrderMoved): readonly OrderMoved[] {
  const others = orders.filter(({ order }) => order !== moved.order);
  return [moved, ...others.slice(0, ORDERS_KEPT - 1)];
}

/** The order of a buyer, if the shop has reported one. */
export function orderOf({ orders }: SaleState, buyer: string): OrderMoved | undefined {
  return orders.find((order) => order.buyer === buyer);
}

/** The number of orders that wait for their turn. */
export function waitersIn({ orders }: SaleState): number {
  return orders.filter(({ state }) => state === 'queued').length;
}

/** The position in the queue; the next waiter is 1. 0: it does not wait. */
export function placeInLine({ orders }: SaleState, { order }: OrderMoved): number {
  const line = orders.filter(({ state }) => state === 'queued').map((queued) => queued.order);
  return line.includes(order) ? line.length - line.indexOf(order) : 0;
}
