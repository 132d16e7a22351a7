import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { SERVED_BY, VISIT } from '../http-app.js';
import type { OrderRef } from '../seckill/gate.js';
import type { ProductState } from '../seckill/sale-ledger.js';
import type { StrategyName } from '../strategies/strategy.js';

/** The answer to a buyer. Status 0: the connection ended without an answer. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly servedBy: number;
  /** By the clock of `performance.now()`. */
  readonly at: number;
}

const CONNECTING_AT_ONCE = 32;
const ANSWER_LIMIT_MS = 90_000;
/**
 * Longer than the wait for a lock. The kernel may deal a connection to a process that has just
 * died; it then stays open without an answer.
 */
const ASK_LIMIT_MS = 15_000;
/** node:cluster deals connections out in turn, so a few attempts reach every process. */
const ATTEMPTS_TO_MEET = 64;

/** A buyer with its own connection, which opens before the sale begins. */
export class Buyer {
  /** All buyers in the shop at once, spread over its processes. */
  static async crowd(url: string, count: number): Promise<Buyer[]> {
    const crowd: Buyer[] = [];
    while (crowd.length < count) {
      const next = Math.min(CONNECTING_AT_ONCE, count - crowd.length);
      crowd.push(...(await Promise.all(Array.from({ length: next }, () => Buyer.enter(url)))));
    }
    return crowd;
  }

  /** A buyer whose connection leads to the given process. */
  static async at(url: string, pid: number): Promise<Buyer> {
    for (let attempt = 0; attempt < ATTEMPTS_TO_MEET; attempt += 1) {
      const buyer = await Buyer.enter(url);
      if (buyer.servedBy === pid) return buyer;
      buyer.leave();
    }
    throw new Error(`no connection reached process ${pid}`);
  }

  /** Over its own connection, to any process. */
  static async enter(url: string): Promise<Buyer> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { servedBy } = await send(agent, 'GET', url);
    return new Buyer(url, agent, servedBy);
  }

  private constructor(
    private readonly url: string,
    private readonly agent: Agent,
    private readonly servedBy: number,
  ) {}

  order(productId: string, strategy: StrategyName, name: string): Promise<Answer> {
    const path = `/api/products/${productId}/orders?strategy=${strategy}`;
    return this.ask('POST', path, { buyer: name });
  }

  /** `visit`: the buyer, if the request does not name it. */
  ask(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: object,
    visit?: OrderRef,
  ): Promise<Answer> {
    return send(this.agent, method, this.url + path, { body, visit });
  }

  leave(): void {
    this.agent.destroy();
  }
}

export async function openSale(url: string, productId: string, stock: number): Promise<void> {
  const answer = await ask('PUT', `${url}/api/products/${productId}/stock`, { body: { stock } });
  if (answer.status !== 200) throw new Error(`the sale did not open: ${refusalIn(answer)}`);
}

export async function stateOf(
  url: string,
  productId: string,
  limitMs?: number,
): Promise<ProductState> {
  const answer = await ask('GET', `${url}/api/products/${productId}`, { limitMs });
  if (answer.status !== 200) throw new Error(`the product cannot be read: ${refusalIn(answer)}`);
  return JSON.parse(answer.body) as ProductState;
}

/** Over its own connection, to any process. Never rejects. */
export async function ask(
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  { limitMs = ASK_LIMIT_MS, ...asked }: Asked = {},
): Promise<Answer> {
  const agent = new Agent();
  try {
    return await send(agent, method, url, { limitMs, ...asked });
  } finally {
    agent.destroy();
  }
}

interface Asked {
  readonly body?: object | undefined;
  /** The buyer, if the request does not name it. */
  readonly visit?: OrderRef | undefined;
  readonly limitMs?: number | undefined;
}

interface Content {
  readonly remaining?: number;
  readonly code?: string;
  /** A list, if the input was wrong. */
  readonly message?: unknown;
  /** False: another process has run the job. */
  readonly ran?: boolean;
}

/** Empty if the body is not JSON. */
export function contentOf({ body }: Answer): Content {
  try {
    return JSON.parse(body) as Content;
  } catch {
    return {};
  }
}

function refusalIn(answer: Answer): string {
  const { message } = contentOf(answer);
  return typeof message === 'string' ? message : answer.body;
}

/** Never rejects: for a buyer, a broken connection is also an answer. */
function send(
  agent: Agent,
  method: string,
  url: string,
  { body, visit, limitMs = ANSWER_LIMIT_MS }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve) => {
    const lost = (error: Error): void => {
      resolve({ status: 0, body: error.message, servedBy: 0, at: performance.now() });
    };
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(visit !== undefined && { [VISIT]: `${visit.productId}/${visit.buyer}` }),
    };
    const outgoing = request(url, { agent, method, headers, timeout: limitMs });
    outgoing.on('response', (incoming) => {
      read(incoming).then(resolve, lost);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.on('error', lost);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function read(incoming: IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return {
    status: incoming.statusCode ?? 0,
    body: Buffer.concat(parts).toString('utf8'),
    servedBy: Number(incoming.headers[SERVED_BY] ?? 0),
    at: performance.now(),
  };
}
