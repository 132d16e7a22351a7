import type { History } from '../history.js';
import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { World } from '../../../libs/world/src/world.js';
import {
  ON_ITS_WAY_MS,
  rootOf,
  type Asked,
  type Outsider,
  type Promised,
  type Rules,
  type Stay,
  type Violation,
} from './promises.js';

interface Disturbance {
  readonly until: number;
  readonly process: SimulatedProcess | undefined;
}

/** Scores of a fair queue may be used up later. */
const IN_SCORE_MS = 10_000;
const LONG_MS = 20_000;

/** The state so far: who waits, who holds, and what disturbs them. */
export class Facts {
  violation: Violation | undefined;
  readonly stays = new Map<string, Set<Stay>>();
  readonly waiting = new Set<Asked>();
  /** Java threads that wait. */
  readonly outsiders = new Set<Outsider>();
  /** When something was granted or released last, by key. */
  readonly changedAt = new Map<string, number>();
  readonly #disturbances: Disturbance[] = [];
  readonly #queuedSince = new Map<string, number>();
  #lastLossAt = -Infinity;
  #quietSince = -Infinity;

  constructor(
    readonly world: World,
    private readonly history: History,
    readonly rules: Rules,
  ) {}

  get now(): number {
    return this.world.now;
  }

  get quietSince(): number {
    return this.#quietSince;
  }

  /** The history goes on to the end of the step. */
  broken(promise: Promised, text: string): void {
    if (this.violation !== undefined) return;
    this.violation = { promise, text };
    this.history.add({ type: 'violation', promise, text });
  }

  /** A caller of either side waits. */
  asked<A extends Asked>(asked: A, side: Set<A>): void {
    const all = [...this.waiting, ...this.outsiders];
    if (!all.some(({ key }) => key === asked.key)) this.#queuedSince.set(asked.key, this.now);
    side.add(asked);
  }

  /**
   * Java removes a waiter whose score has passed. A score counts from the time at which the queue
   * began, and not from its own.
   */
  isInScore({ key, waitTimeMs }: Asked): boolean {
    const ageMs = this.now - (this.#queuedSince.get(key) ?? this.now);
    return waitTimeMs >= LONG_MS && ageMs <= IN_SCORE_MS;
  }

  disturbed(process: SimulatedProcess | undefined, until: number): void {
    this.#disturbances.push({ until, process });
    this.#quietSince = Math.max(this.#quietSince, until);
  }

  lostData(until: number): void {
    this.#lastLossAt = Math.max(this.#lastLossAt, until);
  }

  hasLostData(since: number): boolean {
    return this.#lastLossAt >= since;
  }

  wasDisturbed(process: SimulatedProcess, since: number): boolean {
    return this.#disturbances.some(
      (one) => one.until >= since && (one.process === undefined || one.process === process),
    );
  }

  isQuiet(ms = 0): boolean {
    return this.now - this.#quietSince >= ms;
  }

  on(key: string): ReadonlySet<Stay> {
    return this.stays.get(key) ?? NONE;
  }

  keep(stay: Stay): void {
    const stays = this.stays.get(stay.key) ?? new Set();
    this.stays.set(stay.key, stays.add(stay));
  }

  /** Two of them may hold it for a while after Redis has lost the data of one. */
  isExcused(stay: Stay): boolean {
    if (this.#lastLossAt < rootOf(stay).at) return false;
    return this.now <= this.#lastLossAt + stay.leaseMs + ON_ITS_WAY_MS;
  }

  dead(process: SimulatedProcess): void {
    for (const stays of this.stays.values()) {
      for (const stay of stays) if (stay.process === process) stays.delete(stay);
    }
    for (const waiting of [this.waiting, this.outsiders]) {
      for (const asked of waiting) if (asked.process === process) waiting.delete(asked);
    }
  }
}

const NONE: ReadonlySet<Stay> = new Set();
