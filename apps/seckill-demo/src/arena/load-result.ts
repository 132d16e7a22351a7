import type { ProductState } from '../seckill/sale-ledger.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { Answer } from './buyer.js';

export type LoadOutcome = 'exact' | 'oversells' | 'undersells' | 'miscounts' | 'breaks';

/** One strategy during the rush of all buyers. */
export interface LoadResult {
  readonly strategy: StrategyName;
  readonly processes: number;
  readonly stock: number;
  readonly buyers: number;
  /** Buyers whose answer says that they got a piece. */
  readonly sold: number;
  readonly oversold: number;
  /** Pieces left in stock although a buyer was refused. */
  readonly undersold: number;
  /** Orders on record minus the sold pieces of the stock counter. */
  readonly ledgerDifference: number;
  /** Refused buyers: sold out, or busy. */
  readonly refused: number;
  /** Buyers with neither an order nor a refusal. */
  readonly failed: number;
  readonly ordersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Commands that Redis has run per buyer, including those in scripts. */
  readonly commandsPerOrder?: number | undefined;
  /**
   * The percentage of pairs of buyers with a piece that did not buy in the order of their requests.
   * For a fair lock, of all pairs in its queue in Redis: there its promise begins. 0: a queue; 50:
   * chance. Undefined if two buyers bought the same piece.
   */
  readonly overtaken?: number | undefined;
  readonly outcome: LoadOutcome;
}

export interface LoadRun {
  readonly strategy: StrategyName;
  readonly processes: number;
  readonly stock: number;
  /** The time when the doors opened, by the clock of the answers. */
  readonly openedAt: number;
  /** In order of arrival. */
  readonly answers: readonly Answer[];
  readonly state: ProductState;
  /** Commands that Redis has run meanwhile. */
  readonly commands?: number | undefined;
  /** In percent of the pairs in the queue in Redis; absent without such a queue. */
  readonly overtaken?: number | undefined;
}

const SOLD = 201;
const SOLD_OUT = 410;
const BUSY = 423;

export function isBusy(answer: Answer): boolean {
  return answer.status === BUSY;
}

/** The database has refused the write of a late holder. */
export function isStaleWrite({ body }: Answer): boolean {
  return body.includes('STALE_WRITE');
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
    ...(run.commands !== undefined && {
      commandsPerOrder: oneDecimal(run.commands / Math.max(1, answers.length)),
    }),
    overtaken:
      'overtaken' in run ? rounded(run.overtaken) : overtakenAmong(orders.map(remainingAfter)),
    outcome: outcomeOf(figures),
  };
}

/** The number of pairs in the wrong order: the earlier buyer left less stock than the later one. */
export function inversionsIn(left: readonly number[]): number {
  return left.reduce((sum, mine, place) => {
    return sum + left.slice(place + 1).filter((later) => later > mine).length;
  }, 0);
}

export function remainingAfter({ body }: Answer): number {
  return (JSON.parse(body) as { remaining: number }).remaining;
}

function rounded(share: number | undefined): number | undefined {
  return share === undefined ? undefined : oneDecimal(share);
}

function overtakenAmong(left: readonly number[]): number | undefined {
  if (left.length < 2 || new Set(left).size < left.length) return undefined;
  const pairs = (left.length * (left.length - 1)) / 2;
  return oneDecimal((100 * inversionsIn(left)) / pairs);
}

export function ledgerDifference(state: ProductState): number {
  return state.orders - (state.openingStock - state.stock);
}

/** Nearest rank: each figure is the time of one buyer. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** One run is not more accurate than this. */
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
