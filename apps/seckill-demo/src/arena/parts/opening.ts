import { Buyer, openSale } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld } from '../fleet.js';
import { isSold } from '../load-result.js';
import type { OpeningResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { until } from './until.js';
import { askFor } from './visit.js';

const TOO_EARLY = 425;

/** A fleet that starts cold: all processes but one get ready, then the last one. */
export async function opening(plan: PartPlan): Promise<OpeningResult> {
  const { fleet, redis } = plan;
  const latch = `${plan.keyPrefix}sale_opening`;
  const productId = plan.newProduct();
  await openSale(fleet.url, productId, 2 * fleet.members.length);
  await ordersHeld(fleet, 'warm-up', fleet.members.length);
  const [last, ...others] = fleet.members;
  for (const member of others) member.openGate('warm-up');
  await until(async () => (await redis.get(latch)) === '1');
  const before = await oneOrderAtEach(plan, productId, 'early');
  last?.openGate('warm-up');
  await until(async () => (await redis.exists(latch)) === 0);
  return judgeOpening(before, await oneOrderAtEach(plan, productId, 'late'));
}

export function judgeOpening(before: readonly Answer[], after: readonly Answer[]): OpeningResult {
  const early = before.filter(isSold).length;
  const sold = after.filter(isSold).length;
  const isRight =
    before.every(({ status }) => status === TOO_EARLY) && sold === after.length && sold > 0;
  const outcome = early > 0 ? 'sells-early' : isRight ? 'ok' : 'error';
  return { part: 'opening', withLock: true, outcome, processes: after.length, early, sold };
}

async function oneOrderAtEach(plan: PartPlan, productId: string, name: string): Promise<Answer[]> {
  const { fleet } = plan;
  const crowd: Buyer[] = [];
  for (const { pid } of fleet.members) crowd.push(await Buyer.at(fleet.url, pid));
  const ordering = crowd.map((asking, index) => {
    const buyer = `${name}-${index + 1}`;
    const path = `/api/products/${productId}/orders`;
    return askFor(plan, { productId, buyer }, asking, 'POST', path, { buyer });
  });
  const answers = await Promise.all(ordering);
  for (const buyer of crowd) buyer.leave();
  return answers;
}
