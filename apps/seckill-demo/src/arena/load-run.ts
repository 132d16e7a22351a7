import { performance } from 'node:perf_hooks';
import type { GatePoint } from '../seckill/gate.js';
import type { StrategyName } from '../strategies/strategy.js';
import { Buyer, openSale, stateOf } from './buyer.js';
import type { Answer } from './buyer.js';
import { Doors } from './doors.js';
import { ordersHeld, STEP_LIMIT_MS } from './fleet.js';
import type { Fleet } from './fleet.js';
import { isBusy, summarise } from './load-result.js';
import type { LoadResult, LoadRun } from './load-result.js';
import type { QueueWatch } from './queue-watch.js';

export interface Rush {
  readonly strategy: StrategyName;
  readonly productId: string;
  readonly stock: number;
  readonly buyers: number;
  /** All buyers have read before the first one writes: a buyer that reads without a lock then sells. */
  readonly allRead?: boolean;
  /** Shared with rushes that run at the same time. */
  readonly doors?: Doors | undefined;
  /** Resolves with the number of commands that Redis has run so far. */
  readonly countCommands?: () => Promise<number>;
  /** Watches the queue of a fair lock, where its promise begins. */
  readonly watchQueue?: (() => QueueWatch) | undefined;
  /** Receives each answer. */
  readonly onAnswer?: (buyer: string, answer: Answer, sentAt: number) => void;
}

/**
 * All buyers wait at the doors, the doors open, and each buyer gets an answer. The run makes the
 * known fault of a strategy certain. It holds orders between read and write until the fault has
 * happened. It does not hold orders of a strategy without that fault.
 */
export async function rush(fleet: Fleet, plan: Rush): Promise<LoadResult> {
  const { strategy, productId, stock, buyers, doors = new Doors(fleet, 1) } = plan;
  await openSale(fleet.url, productId, stock);
  const crowd = await Buyer.crowd(fleet.url, buyers);
  const certainty = certaintyFor(strategy, fleet, plan);
  const meter = new Meter(plan);
  try {
    await doors.close(buyers);
    if (certainty !== undefined) await closeEverywhere(fleet, certainty.point, buyers);
    let openedAt = 0;
    const answers = Promise.all(
      crowd.map(async (buyer, index) => {
        const name = `buyer-${index + 1}`;
        const answer = await buyer.order(productId, strategy, name);
        certainty?.onAnswer(answer);
        plan.onAnswer?.(name, answer, openedAt);
        return answer;
      }),
    );
    await doors.everybodyThere();
    await meter.start();
    openedAt = performance.now();
    doors.open();
    await certainty?.reached();
    if (certainty !== undefined) openEverywhere(fleet, certainty.point);
    const run = { strategy, processes: fleet.members.length, stock, openedAt };
    const answered = await answers;
    return summarise({
      ...{ ...run, answers: answered, ...(await meter.read()) },
      state: await stateOf(fleet.url, productId),
    });
  } finally {
    await meter.stop();
    doors.open();
    if (certainty !== undefined) openEverywhere(fleet, certainty.point);
    for (const buyer of crowd) buyer.leave();
  }
}

/** Reads in Redis what a rush costs there, and the order of its queue. */
class Meter {
  #before: number | undefined;
  #watch: QueueWatch | undefined;

  constructor(private readonly plan: Rush) {}

  async start(): Promise<void> {
    this.#before = await this.plan.countCommands?.();
    this.#watch = this.plan.watchQueue?.();
  }

  async read(): Promise<Pick<LoadRun, 'commands' | 'overtaken'>> {
    const queue = await this.stop();
    const after = await this.plan.countCommands?.();
    const before = this.#before;
    return {
      // The reads of the queue are no cost of the rush.
      ...(before !== undefined &&
        after !== undefined && { commands: after - before - (queue?.reads ?? 0) }),
      ...(queue && { overtaken: queue.overtaken }),
    };
  }

  async stop(): Promise<Awaited<ReturnType<QueueWatch['stop']>> | undefined> {
    return this.#watch?.stop();
  }
}

interface Certainty {
  /** The point where orders are held meanwhile. */
  readonly point: GatePoint;
  onAnswer(answer: Answer): void;
  /** Resolves when the expected failure is certain, or never showed. */
  reached(): Promise<unknown>;
}

function certaintyFor(strategy: StrategyName, fleet: Fleet, rush: Rush): Certainty | undefined {
  if (rush.buyers < 2) return undefined;
  switch (strategy) {
    case 'naive':
      return haveRead(fleet, 'before-write', rush.allRead === true ? rush.buyers : 2);
    case 'in-process':
      return fleet.members.length > 1 ? haveRead(fleet, 'before-write', 2) : undefined;
    case 'setnx':
    case 'setnx-expire':
    case 'set-nx-px':
    case 'owner-check':
    case 'lua-release':
      return tooManyRefused(rush);
    case 'lock-in-tx':
      return haveRead(fleet, 'before-commit', 2);
    case 'redis-lock':
    case 'fair':
    case 'fenced':
    case 'sql-update':
    case 'lua-decrement':
    case 'redlock':
    case 'redis-semaphore':
      return undefined;
  }
}

/** Two orders that have read the same stock sell the same piece in any case. */
function haveRead(fleet: Fleet, point: GatePoint, orders: number): Certainty {
  return {
    point,
    onAnswer: () => undefined,
    reached: () => ordersHeld(fleet, point, orders),
  };
}

/** After this number of refusals, the remaining buyers cannot buy up the stock. */
function tooManyRefused({ stock, buyers }: Rush): Certainty {
  const enough = Math.min(buyers - 1, Math.max(1, buyers - stock + 1));
  let refused = 0;
  let settle: () => void = () => undefined;
  const isReached = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return {
    point: 'before-write',
    onAnswer: (answer) => {
      if (isBusy(answer)) refused += 1;
      if (refused >= enough) settle();
    },
    reached: async () => {
      const timer = setTimeout(settle, STEP_LIMIT_MS);
      await isReached;
      clearTimeout(timer);
    },
  };
}

export async function closeEverywhere(
  fleet: Fleet,
  point: GatePoint,
  count: number,
): Promise<void> {
  await Promise.all(fleet.members.map((member) => member.closeGate(point, count)));
}

export function openEverywhere(fleet: Fleet, point: GatePoint): void {
  for (const member of fleet.members) member.openGate(point);
}
