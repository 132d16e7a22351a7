import { Buyer } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld } from '../fleet.js';
import { closeEverywhere, openEverywhere } from '../load-run.js';
import type { OfferResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const READERS = 12;
const OLD = { price: 9_900, stock: 10 };
const NEW = { price: 4_900, stock: 500 };
const OK = 200;
const BUSY = 423;

export interface OfferEvidence {
  /** The number of readers that were between their two reads at the same moment. */
  readonly together: number;
  readonly read: readonly Answer[];
  /** The merchant's change during these reads, and the one after them. */
  readonly changedWithin: Answer;
  readonly changedAfter: Answer;
}

/** All readers have read the price but not the stock. Then the merchant changes both. */
export async function offer(
  plan: PartPlan,
  strategy: 'naive' | 'read-write-lock',
): Promise<OfferResult> {
  const { fleet } = plan;
  const productId = plan.newProduct();
  const path = `/api/products/${productId}/offer`;
  const [merchant, ...readers] = await Buyer.crowd(fleet.url, READERS + 1);
  if (merchant === undefined) throw new Error('there is no merchant');
  try {
    await merchant.ask('PUT', path, OLD);
    await closeEverywhere(fleet, 'between-reads', READERS);
    const reading = readers.map((reader, index) => {
      const visit = { productId, buyer: `reader-${index + 1}` };
      return askFor(plan, visit, reader, 'GET', `${path}?strategy=${strategy}`);
    });
    const change = (): Promise<Answer> =>
      askFor(plan, { productId, buyer: 'merchant' }, merchant, 'PUT', path, NEW);
    await ordersHeld(fleet, 'between-reads', READERS);
    const together = fleet.members.reduce((sum, member) => sum + member.held('between-reads'), 0);
    const changedWithin = await change();
    openEverywhere(fleet, 'between-reads');
    const read = await Promise.all(reading);
    const changedAfter = await change();
    const withLock = strategy === 'read-write-lock';
    return judgeOffer({ together, read, changedWithin, changedAfter }, withLock);
  } finally {
    openEverywhere(fleet, 'between-reads');
    for (const somebody of [merchant, ...readers]) somebody.leave();
  }
}

export function judgeOffer(evidence: OfferEvidence, withLock: boolean): OfferResult {
  const { together, read, changedWithin, changedAfter } = evidence;
  const torn = read.filter((answer) => answer.status === OK && isTorn(answer)).length;
  const isRight =
    read.every(({ status }) => status === OK) &&
    together === read.length &&
    changedWithin.status === BUSY &&
    changedAfter.status === OK;
  const outcome = torn > 0 ? 'torn' : isRight ? 'ok' : 'error';
  return { part: 'offer', withLock, outcome, readers: read.length, together, torn };
}

function isTorn({ body }: Answer): boolean {
  const { price, stock } = JSON.parse(body) as typeof OLD;
  return (price === OLD.price) !== (stock === OLD.stock);
}
