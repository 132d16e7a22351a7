import type { ProductState } from '../seckill/sale-ledger.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { Answer } from './buyer.js';

export type LoadOutcome = 'exact' | 'oversells' | 'undersells' | 'miscounts' | 'breaks';

/** One strategy under the rush of all buyers. */
export interface LoadResult {
  readonly strategy: StrategyName;
  readonly processes: number;
  readonly stock: number;
  readonly buyers: number;
  /** Buyers with the answer that they got one. */
  readonly sold: number;
  readonly oversold: number;
  /** Pieces that stayed in stock although a buyer that wanted one was turned away. */
  readonly undersold: number;
  /** Orders on record minus what the stock counter says was sold. */
  readonly ledgerDifference: number;
  /** Buyers who were turned away: sold out, or busy. */
  readonly refused: number;
  /** Buyers who got neither an order nor a refusal. */
  readonly failed: number;
  readonly ordersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly outcome: LoadOutcome;
}

export interface LoadRun {
  readonly strategy: StrategyName;
  readonly processes: number;
  readonly stock: number;
  /** When the doors opened, by the clock of the answers. */
  readonly openedAt: number;
  readonly answers: readonly Answer[];
  readonly state: ProductState;
}

const SOLD = 201;
const SOLD_OUT = 410;
const BUSY = 423;

export function isBusy(answer: Answer): boolean {
  return answer.status === BUSY;
}

export function isSold(answer: Answer): boolean {
  return answer.status === SOLD;
}

export function isSoldOut(answer: Answer): boolean {
  return answer.status === SOLD_OUT;
}

export function summarise(run: LoadRun): LoadResult {
  const { stock, answers, state } = run;
  const orders = answers.filter(isSold);
  const busy = answers.filter(isBusy).length;
  const refused = busy + answers.filter(isSoldOut).length;
  const latencies = answers.map(({ at }) => at - run.openedAt).sort((a, b) => a - b);
  const lastOrder = Math.max(run.openedAt, ...orders.map(({ at }) => at)) - run.openedAt;
  const figures = {
    sold: orders.length,
    oversold: Math.max(0, orders.length - stock),
    undersold: busy === 0 ? 0 : Math.max(0, Math.min(stock, answers.length) - orders.length),
    ledgerDifference: ledgerDifference(state),
    failed: answers.length - orders.length - refused,
  };
  return {
    strategy: run.strategy,
    processes: run.processes,
    stock,
    buyers: answers.length,
    ...figures,
    refused,
    ordersPerSecond: lastOrder === 0 ? 0 : oneDecimal((orders.length * 1_000) / lastOrder),
    p50Ms: oneDecimal(percentile(latencies, 0.5)),
    p99Ms: oneDecimal(percentile(latencies, 0.99)),
    outcome: outcomeOf(figures),
  };
}

export function ledgerDifference(state: ProductState): number {
  return state.orders - (state.openingStock - state.stock);
}

/** Nearest rank, so that every figure shown is one that a buyer really saw. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** One run is no more accurate than that. */
function oneDecimal(figure: number): number {
  return Math.round(figure * 10) / 10;
}

function outcomeOf(
  figures: Pick<LoadResult, 'oversold' | 'undersold' | 'ledgerDifference' | 'failed'>,
): LoadOutcome {
  if (figures.failed > 0) return 'breaks';
  if (figures.oversold > 0) return 'oversells';
  if (figures.undersold > 0) return 'undersells';
  return figures.ledgerDifference === 0 ? 'exact' : 'miscounts';
}
