import { Buyer, openSale } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld, whileFrozen } from '../fleet.js';
import { isStaleWrite } from '../load-result.js';
import type { FenceResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const LATE = 9_900;
const NEWER = 4_900;
const OK = 200;

export interface FenceEvidence {
  /** The answers to the frozen process and to the one that wrote in the meantime. */
  readonly late: Answer;
  readonly newer: Answer;
  /** The price at the end. */
  readonly price: number;
}

/**
 * The first process is frozen between its check and its write, including its timers. Its lease
 * expires, the next process writes, and the first one continues.
 */
export async function fence(plan: PartPlan, strategy: 'unfenced' | 'fenced'): Promise<FenceResult> {
  const { fleet, redis, keyPrefix, onStruck } = plan;
  const productId = plan.newProduct();
  const [first, next = first] = fleet.members;
  if (first === undefined || next === undefined) throw new Error('nobody serves');
  await openSale(fleet.url, productId, 1);
  const offices = [
    await Buyer.at(fleet.url, first.pid),
    await Buyer.at(fleet.url, next.pid),
  ] as const;
  const write = (office: 0 | 1, price: number): Promise<Answer> => {
    const path = `/api/products/${productId}/price?strategy=${strategy}`;
    const visit = { productId, buyer: office === 0 ? 'first' : 'next' };
    return askFor(plan, visit, offices[office], 'PUT', path, { price });
  };
  try {
    await first.closeGate('before-write', 1);
    const pending = write(0, LATE);
    await ordersHeld(fleet, 'before-write', 1, { members: [first] });
    const newer = await whileFrozen(first, ['before-write'], onStruck, async () => {
      // No process renews the lease now; the rest of its thirty seconds would show nothing more.
      await redis.pexpire(`${keyPrefix}product_${productId}`, 0);
      onStruck('lease-ended');
      return write(1, NEWER);
    });
    const late = await pending;
    if (isStaleWrite(late)) onStruck('stale-refused', first.pid);
    const price = await priceOf(offices[1], productId);
    return judgeFence({ late, newer, price }, strategy === 'fenced');
  } finally {
    for (const office of offices) office.leave();
  }
}

export function judgeFence({ late, newer, price }: FenceEvidence, withLock: boolean): FenceResult {
  const isOverwritten = newer.status === OK && price === LATE;
  const isKept = newer.status === OK && price === NEWER && isStaleWrite(late);
  const outcome = isOverwritten ? 'stale-write' : isKept ? 'refused' : 'error';
  return { part: 'fence', withLock, outcome, price };
}

async function priceOf(office: Buyer, productId: string): Promise<number> {
  const { body } = await office.ask('GET', `/api/products/${productId}/offer`);
  return (JSON.parse(body) as { price: number }).price;
}
