import { Buyer, openSale, stateOf } from '../buyer.js';
import type { Answer } from '../buyer.js';
import { ordersHeld } from '../fleet.js';
import type { Fleet } from '../fleet.js';
import { isBusy, isSold, ledgerDifference } from '../load-result.js';
import { closeEverywhere, openEverywhere } from '../load-run.js';
import type { ProductState } from '../../seckill/sale-ledger.js';
import type { CartResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const CARTS_EACH = 20;
/** The second product runs out before the carts do. */
const STOCK = [2 * CARTS_EACH, 1.5 * CARTS_EACH] as const;
const SOLD_OUT = 410;
const ONE_BY_ONE = '?strategy=one-by-one';

type Pair = readonly [string, string];
type ProductStates = readonly [ProductState, ProductState];

/** Two buyers in two processes: one always wants A and B, the other B and A. */
export async function cart(plan: PartPlan): Promise<CartResult> {
  return withPair(plan, async (buyers, [a, b]) => {
    const answers = await Promise.all([
      cartsOf(plan, buyers[0], 'first', [a, b]),
      cartsOf(plan, buyers[1], 'second', [b, a]),
    ]);
    return { answers: answers.flat(), withLock: true };
  });
}

/** The same without the multi lock: both hold their first lock before either waits for its second. */
export async function cartOneByOne(plan: PartPlan): Promise<CartResult> {
  const { fleet } = plan;
  return withPair(plan, async (buyers, [a, b]) => {
    await closeEverywhere(fleet, 'before-read', 1);
    const pending = [
      order(plan, buyers[0], ONE_BY_ONE, 'first', [a, b]),
      order(plan, buyers[1], ONE_BY_ONE, 'second', [b, a]),
    ];
    await ordersHeld(fleet, 'before-read', 2);
    openEverywhere(fleet, 'before-read');
    return { answers: await Promise.all(pending), withLock: false };
  });
}

export function judgeCarts(
  answers: readonly Answer[],
  states: ProductStates,
  withLock: boolean,
): CartResult {
  const sold = answers.filter(isSold).length;
  const soldOut = answers.filter(({ status }) => status === SOLD_OUT).length;
  const stuck = answers.filter(isBusy).length;
  const isPartial = states.some((state) => state.orders !== sold || ledgerDifference(state) !== 0);
  const isRight = sold + soldOut === answers.length && sold === Math.min(...STOCK);
  const outcome = stuck > 0 ? 'deadlock' : isPartial ? 'partial' : isRight ? 'ok' : 'error';
  return { part: 'cart', withLock, outcome, sold, soldOut, stuck };
}

async function withPair(
  { fleet, newProduct }: PartPlan,
  play: (
    buyers: readonly [Buyer, Buyer],
    products: Pair,
  ) => Promise<{ readonly answers: readonly Answer[]; readonly withLock: boolean }>,
): Promise<CartResult> {
  const products = [newProduct(), newProduct()] as const;
  await openSale(fleet.url, products[0], STOCK[0]);
  await openSale(fleet.url, products[1], STOCK[1]);
  const buyers = [await buyerAt(fleet, 0), await buyerAt(fleet, 1)] as const;
  try {
    const { answers, withLock } = await play(buyers, products);
    const states = [
      await stateOf(fleet.url, products[0]),
      await stateOf(fleet.url, products[1]),
    ] as const;
    return judgeCarts(answers, states, withLock);
  } finally {
    openEverywhere(fleet, 'before-read');
    for (const buyer of buyers) buyer.leave();
  }
}

/** In its own process, if there are several. */
function buyerAt({ url, members }: Fleet, place: number): Promise<Buyer> {
  return Buyer.at(url, members[place % members.length]?.pid ?? 0);
}

async function cartsOf(
  plan: PartPlan,
  asking: Buyer,
  name: string,
  products: Pair,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let number = 1; number <= CARTS_EACH; number += 1) {
    answers.push(await order(plan, asking, '', `${name}-${number}`, products));
  }
  return answers;
}

function order(
  plan: PartPlan,
  asking: Buyer,
  query: string,
  buyer: string,
  products: Pair,
): Promise<Answer> {
  const visit = { productId: products[0], buyer };
  return askFor(plan, visit, asking, 'POST', `/api/carts/orders${query}`, { buyer, products });
}
