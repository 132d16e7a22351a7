import { Buyer, openSale } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld } from '../fleet.js';
import type { Fleet, Member } from '../fleet.js';
import { inversionsIn, isSold, remainingAfter } from '../load-result.js';
import { fairQueueOf } from '../queue-watch.js';
import type { QueueResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { until } from './until.js';

const BUYERS = 20;

/**
 * One buyer is inside, and the others arrive one by one, at each process in turn. The stock after
 * an order shows the order of purchase.
 */
export async function queue(plan: PartPlan, strategy: 'redis-lock' | 'fair'): Promise<QueueResult> {
  const productId = plan.newProduct();
  await openSale(plan.fleet.url, productId, BUYERS);
  const line = await lineUp(plan.fleet);
  const pending: Array<Promise<Answer>> = [];
  let isLineInRedis = strategy === 'fair';
  for (const [place, { buyer, member }] of line.entries()) {
    if (place === 0) await member.closeGate('lock-set', 1);
    await atTheDoors(plan.fleet, member, () => {
      pending.push(buyer.order(productId, strategy, `buyer-${place + 1}`));
    });
    if (place === 0) await ordersHeld(plan.fleet, 'lock-set', 1);
    else isLineInRedis &&= await stoodInLine(plan, productId, place);
  }
  line[0]?.member.openGate('lock-set');
  const answers = await Promise.all(pending);
  for (const { buyer } of line) buyer.leave();
  return judgeQueue(answers, strategy === 'fair');
}

export function judgeQueue(inOrderOfArrival: readonly Answer[], withLock: boolean): QueueResult {
  const left = inOrderOfArrival.filter(isSold).map(remainingAfter);
  const inversions = inversionsIn(left);
  const isComplete = left.length === inOrderOfArrival.length;
  const outcome = !isComplete ? 'error' : inversions === 0 ? 'ok' : 'overtakes';
  return { part: 'queue', withLock, outcome, buyers: inOrderOfArrival.length, inversions };
}

async function lineUp({ url, members }: Fleet): Promise<Array<{ buyer: Buyer; member: Member }>> {
  const line: Array<{ buyer: Buyer; member: Member }> = [];
  while (line.length < BUYERS) {
    for (const member of members) line.push({ buyer: await Buyer.at(url, member.pid), member });
  }
  return line.slice(0, BUYERS);
}

/** Resolves when the order has left the doors and waits for its lock. */
async function atTheDoors(fleet: Fleet, member: Member, order: () => void): Promise<void> {
  await member.closeGate('doors', 1);
  order();
  await ordersHeld(fleet, 'doors', 1, { members: [member] });
  member.openGate('doors');
  // The next answer of the member comes after the order went on.
  await member.closeGate('doors', 0);
}

/** The queue in Redis shows which of two processes arrived first. */
function stoodInLine(plan: PartPlan, productId: string, waiters: number): Promise<boolean> {
  const key = fairQueueOf(`${plan.keyPrefix}product_${productId}`);
  return until(async () => (await plan.redis.llen(key)) >= waiters);
}
