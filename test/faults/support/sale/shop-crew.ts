import { setTimeout as elapse } from 'node:timers/promises';
import type { GatePoint } from '../../../../apps/seckill-demo/src/seckill/gate.js';
import type { Worker, WorkerHerd } from '../../../support/child.js';
import { eventually } from '../../../support/eventually.js';
import type { Random } from '../../../support/random.js';
import type { ShopApi } from './shop.worker.js';

export interface Answer {
  readonly status: number;
  readonly body: { readonly id?: string; readonly state?: string };
}

interface Member {
  readonly worker: Worker<ShopApi>;
  /** Undefined: it is just starting. */
  url?: string;
}

const SHOP = new URL('shop.worker.ts', import.meta.url);
const ANSWER_LIMIT_MS = 10_000;
const START_LIMIT_MS = 60_000;
/** The others are killed while they start. */
const SHARE_OF_SERVING = 0.6;
/** The others are killed at any moment. */
const SHARE_AT_POINT = 0.7;
/** Between these, an order is written to two systems, or to one that another one decides for. */
const FATAL = ['lock-set', 'before-write', 'after-write', 'at-gateway'] as const;
/** No order comes to that point for so long: the process is killed where it is. */
const REACHED_WITHIN_MS = 500;

/** The processes of the shop. One that is killed is replaced at once. */
export class ShopCrew {
  kills = 0;
  /** So many of these had an open port. */
  killsOfServing = 0;
  /** So many of them had an order at that point. */
  readonly killsAt: Partial<Record<GatePoint, number>> = {};
  /** Processes that ended without having been killed. */
  readonly failures: string[] = [];
  #members: Member[] = [];

  constructor(
    private readonly herd: WorkerHerd,
    private readonly env: Record<string, string>,
  ) {}

  get urls(): string[] {
    return this.#members.flatMap(({ url }) => url ?? []);
  }

  async hire(count = 1): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#hireOne()));
  }

  /** SIGKILL. A process is left to sell: one that serves is killed beside another one. */
  async killOne(random: Random): Promise<void> {
    const starting = this.#members.filter(({ url }) => url === undefined);
    const isServing = starting.length === 0 || random.chance(SHARE_OF_SERVING);
    if (isServing) await eventually(() => this.urls.length > 1, { withinMs: START_LIMIT_MS });
    const serving = this.#members.filter(({ url }) => url !== undefined);
    const victim = random.pick(isServing ? serving : starting);
    this.kills += 1;
    if (isServing) this.killsOfServing += 1;
    if (isServing && random.chance(SHARE_AT_POINT)) await this.#killAt(victim, random.pick(FATAL));
    // Until now it served: otherwise no order would come to that point.
    this.#members = this.#members.filter((member) => member !== victim);
    void victim.worker.kill();
    void this.hire();
  }

  async #killAt({ worker }: Member, point: GatePoint): Promise<void> {
    await worker.call.dieAt(point).catch(() => undefined);
    const isOver = new AbortController();
    const { signal } = isOver;
    const tooLong = elapse(REACHED_WITHIN_MS, false, { signal }).catch(() => false);
    const hasDied = await Promise.race([worker.exited.then(() => true), tooLong]);
    isOver.abort();
    if (hasDied) this.killsAt[point] = (this.killsAt[point] ?? 0) + 1;
  }

  /** By any process. Undefined: the outcome of the request is unknown. */
  async ask(
    random: Random,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: object,
  ): Promise<Answer | undefined> {
    const { urls } = this;
    if (urls.length === 0) return undefined;
    try {
      const answer = await fetch(`${random.pick(urls)}/api/${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: (await answer.json()) as Answer['body'] };
    } catch {
      return undefined;
    }
  }

  async #hireOne(): Promise<void> {
    const worker = await this.herd.start<ShopApi>(SHOP, { env: this.env });
    const member: Member = { worker };
    this.#members.push(member);
    try {
      member.url = await worker.call.start();
    } catch (error) {
      if (this.#members.includes(member)) this.failures.push(String(error));
    }
  }
}
