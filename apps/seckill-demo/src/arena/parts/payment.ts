import { setTimeout as elapse } from 'node:timers/promises';
import { AT_ONCE } from '../../payment/payment-gateway.js';
import { Buyer, openSale } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld, STEP_LIMIT_MS } from '../fleet.js';
import { closeEverywhere, openEverywhere } from '../load-run.js';
import type { PaymentResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const BUYERS = 20;
const PAID = 201;
const OVERLOADED = 502;

/** All buyers pay at the same moment. The first five stay in the gateway until it is full. */
export async function payment(
  plan: PartPlan,
  strategy: 'naive' | 'semaphore',
): Promise<PaymentResult> {
  const { fleet } = plan;
  const productId = plan.newProduct();
  await openSale(fleet.url, productId, BUYERS);
  const crowd = await Buyer.crowd(fleet.url, BUYERS);
  try {
    const names = crowd.map((_, index) => `buyer-${index + 1}`);
    await Promise.all(
      crowd.map((buyer, index) => buyer.order(productId, 'redis-lock', names[index] ?? '')),
    );
    await closeEverywhere(fleet, 'at-gateway', BUYERS);
    const pending = crowd.map((buyer, index) => {
      const order = `/api/products/${productId}/orders/${names[index] ?? ''}`;
      // The order of the same buyer is another matter.
      const visit = { productId, buyer: `payment-${index + 1}` };
      return askFor(plan, visit, buyer, 'POST', `${order}/payment?strategy=${strategy}`);
    });
    await ordersHeld(fleet, 'at-gateway', AT_ONCE);
    // The gateway is full: without the semaphore one more is certain to come.
    if (strategy === 'naive') await Promise.race([...pending, timeIsOver()]);
    openEverywhere(fleet, 'at-gateway');
    return judgePayment(await Promise.all(pending), strategy === 'semaphore');
  } finally {
    openEverywhere(fleet, 'at-gateway');
    for (const buyer of crowd) buyer.leave();
  }
}

function timeIsOver(): Promise<void> {
  return elapse(STEP_LIMIT_MS, undefined, { ref: false });
}

export function judgePayment(answers: readonly Answer[], withLock: boolean): PaymentResult {
  const taken = answers.filter(({ status }) => status === PAID);
  const refused = answers.filter(({ status }) => status === OVERLOADED).length;
  const inside = Math.max(0, ...taken.map(insideThen));
  const isRight = taken.length === answers.length && inside === AT_ONCE;
  const outcome = refused > 0 ? 'overloads' : isRight ? 'ok' : 'error';
  return { part: 'payment', withLock, outcome, paid: taken.length, refused, inside };
}

function insideThen({ body }: Answer): number {
  return (JSON.parse(body) as { inside: number }).inside;
}
