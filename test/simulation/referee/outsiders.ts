import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Facts } from './facts.js';
import { MARGIN_MS, of, ON_ITS_WAY_MS, type Asked, type Outsider, type Stay } from './promises.js';

/** The sections of one side in a row. */
interface Run {
  readonly isOfJava: boolean;
  readonly since: number;
  count: number;
}

/** Far more than each side gets in a row while the other waits. */
const MOST_IN_A_ROW = 24;

/** Java services with Redisson, which share a lock with the processes. */
export class Outsiders {
  readonly #processes = new Set<SimulatedProcess>();
  /** By key, which threads the release of its last holder tells. */
  readonly #told = new Map<string, 'all' | 'sleepers' | 'none'>();
  readonly #freeSince = new Map<string, number>();
  /** By key, when a Java thread stopped to wait. */
  readonly #leftAt = new Map<string, number>();
  readonly #runs = new Map<string, Run>();

  constructor(private readonly facts: Facts) {}

  asked(asked: Outsider): void {
    this.#processes.add(asked.process);
    this.facts.asked(asked, this.facts.outsiders);
  }

  granted(asked: Outsider): void {
    this.facts.outsiders.delete(asked);
  }

  /** The next in a queue is not told that it is the first now. */
  gone(asked: Outsider): void {
    const { facts } = this;
    if (facts.outsiders.delete(asked)) this.#leftAt.set(asked.key, facts.now);
  }

  dead(process: SimulatedProcess): void {
    this.facts.dead(process);
  }

  /** A caller of either side holds it. */
  entered(stay: Stay): void {
    if (this.#processes.size === 0 || stay.isNested) return;
    const { rules } = this.facts;
    if (rules.isFair && stay.inOrder) this.#checkOrder(stay);
    if (rules.java?.isShared === true && stay.weight === 1) this.#checkShare(stay);
  }

  /** A lease that ends by itself tells nobody. */
  left({ key, process, isFixed, minHoldMs }: Stay): void {
    const { java } = this.facts.rules;
    const isForSleepers = java?.wakesOnlySleepers === true && this.#processes.has(process);
    const isTold = !isFixed && minHoldMs === 0;
    this.#told.set(key, !isTold ? 'none' : isForSleepers ? 'sleepers' : 'all');
  }

  /** A Java thread cannot release what it has acquired. */
  refused(stay: Stay, wasOurs: boolean): void {
    const { facts } = this;
    if (!wasOurs || facts.isExcused(stay) || facts.hasLostData(stay.at)) return;
    facts.broken('held in Redis', `${of(stay)} held ${stay.key} by its lease, and Redis did not`);
  }

  lookAround(): void {
    for (const asked of this.facts.outsiders) this.#lookAfter(asked);
  }

  /** A Java thread does not sleep on a free lock. */
  #lookAfter(asked: Outsider): void {
    const { facts } = this;
    const { key, process, asleepSince } = asked;
    if (!facts.rules.isFree(key)) {
      this.#freeSince.delete(key);
      return;
    }
    const freeSince = this.#freeSince.get(key) ?? facts.now;
    this.#freeSince.set(key, freeSince);
    const leftAt = facts.changedAt.get(key) ?? 0;
    const since = Math.max(leftAt, freeSince, asked.at);
    const told = this.#told.get(key) ?? 'none';
    if (told === 'none') return;
    if (facts.now - since <= facts.rules.freeMs + 2 * ON_ITS_WAY_MS) return;
    if (asleepSince === undefined || process.isStill || !this.#isNext(asked)) return;
    if (told === 'sleepers' && asleepSince > leftAt) return;
    if (!facts.isQuiet(facts.now - asked.at)) return;
    const freeMs = String(facts.now - since);
    facts.broken('progress', `${of(asked)} sleeps, and ${key} is free for ${freeMs} ms`);
  }

  #isNext({ key, process, at }: Outsider): boolean {
    const { facts } = this;
    if (!facts.rules.isFair) {
      // A message wakes one thread of each process.
      return [...facts.outsiders].every(
        (one) => one.key !== key || one.process !== process || one.asleepSince !== undefined,
      );
    }
    const isTold = (this.#leftAt.get(key) ?? 0) + ON_ITS_WAY_MS < (facts.changedAt.get(key) ?? 0);
    const all = [...facts.waiting, ...facts.outsiders];
    return isTold && all.every((one) => one.key !== key || one.at >= at);
  }

  /** One queue for Java threads and Node callers. */
  #checkOrder(stay: Stay): void {
    const { facts } = this;
    const isOfJava = this.#processes.has(stay.process);
    for (const other of isOfJava
      ? [...facts.waiting, ...this.facts.outsiders]
      : this.facts.outsiders) {
      if (!this.#isBeside(stay, other) || other.at + MARGIN_MS >= stay.at) continue;
      if (!facts.isInScore(other) || !facts.isQuiet(facts.now - other.at)) continue;
      facts.broken('order of callers', `${of(stay)} acquired ${stay.key} before ${of(other)}`);
    }
  }

  /** Neither side starves while the other gets all. */
  #checkShare(stay: Stay): void {
    const { facts } = this;
    const { key } = stay;
    const isOfJava = this.#processes.has(stay.process);
    const run = this.#runs.get(key);
    if (run?.isOfJava !== isOfJava) {
      this.#runs.set(key, { isOfJava, since: facts.now, count: 1 });
      return;
    }
    run.count += 1;
    if (run.count <= MOST_IN_A_ROW) return;
    const others: Iterable<Asked> = isOfJava ? facts.waiting : this.facts.outsiders;
    for (const other of others) {
      if (!this.#isBeside(stay, other) || other.at > run.since) continue;
      if (!facts.isQuiet(facts.now - other.at)) continue;
      facts.broken(
        'share of Java',
        `${of(stay)} has ${key} as the ${String(run.count)}th of its side, and ${of(other)} waits`,
      );
    }
  }

  #isBeside({ key }: Stay, other: Asked): boolean {
    if (other.key !== key || other.isNested || other.process.isStill) return false;
    return other.waitTimeMs > 0 && other.weight === 1;
  }
}
