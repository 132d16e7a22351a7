import { performance } from 'node:perf_hooks';
import { setTimeout as elapse } from 'node:timers/promises';
import type { OrderAnswer } from '../orders/orders.controller.js';
import { answered, epochOf } from './answered.js';
import { ask } from './buyer.js';
import type { Answer } from './buyer.js';
import { LIVE } from './cell.js';
import type { OrderMoved } from './step.js';
import type { Steps } from './steps.js';

const ROBOT = 'robot-';
/** Every fifth robot never pays. Its piece is on sale again after the time to pay. */
const FORGETFUL = 5;
/** A kernel refuses connections when too many arrive at once. */
const CONNECTIONS = 64;
const TRIES_AGAIN_AFTER_MS = 500;
/** A robot stops after one of these answers: paid, no such order, paid before, too late. */
const FINAL = [201, 404, 409, 410];

/** The callers of the real sale: visitors of the page, by name, and robots. */
export class Customers {
  #robots = 0;

  constructor(
    private readonly url: string,
    private readonly product: string,
    private readonly steps: Steps,
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves with the shop's answer. Steps report the progress of an accepted order. */
  async order(buyer: string): Promise<Answer> {
    const sentAt = performance.now();
    const order = { product: this.product, buyer };
    const answer = await ask('POST', `${this.url}/api/orders`, { body: order });
    const isAccepted = answer.status === 202;
    if (!isAccepted) this.steps.add(answered(LIVE, buyer, answer, sentAt), epochOf(answer));
    return answer;
  }

  /** Pays for the latest order of a buyer. */
  async pay(buyer: string): Promise<Answer> {
    const query = new URLSearchParams({ product: this.product, buyer });
    const found = await ask('GET', `${this.url}/api/orders?${query}`);
    if (found.status !== 200) return found;
    return this.#payFor((JSON.parse(found.body) as OrderAnswer).id);
  }

  /** Robots without an order so far. They share a few connections. */
  async callRobots(count: number): Promise<void> {
    const first = this.#robots + 1;
    this.#robots += count;
    const robots = Array.from({ length: count }, (_, place) => `${ROBOT}${first + place}`).values();
    const orderInTurn = async (): Promise<void> => {
      for (const robot of robots) await this.order(robot);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, orderInTurn));
  }

  /** A robot that learns of its piece pays for it, until the signal aborts. */
  async letRobotsPay(): Promise<void> {
    for await (const { steps } of this.steps.batches(0, this.signal)) {
      for (const step of steps) if (step.kind === 'order' && pays(step)) void this.#insist(step);
    }
  }

  /** A robot retries if a process dies or the gateway is full. */
  async #insist({ order }: OrderMoved): Promise<void> {
    const { signal } = this;
    while (!signal.aborted && !FINAL.includes((await this.#payFor(order)).status)) {
      await elapse(TRIES_AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #payFor(order: string): Promise<Answer> {
    return ask('POST', `${this.url}/api/orders/${order}/payment`);
  }
}

function pays({ buyer, state }: OrderMoved): boolean {
  return (
    state === 'reserved' &&
    buyer.startsWith(ROBOT) &&
    Number(buyer.slice(ROBOT.length)) % FORGETFUL !== 0
  );
}
