import type { Facts } from './facts.js';
import { isHeld, of, parentOf, rootOf, type Stay } from './promises.js';

/** Clocks tick in milliseconds. */
const TICK_MS = 1;

/** One holder at a time, and none that Redis does not know. */
export class Exclusion {
  constructor(private readonly facts: Facts) {}

  /** Its process looks whether it still holds it. */
  look(stay: Stay): boolean {
    if (!isHeld(stay)) return false;
    this.#checkOthers(stay);
    if (!this.facts.rules.isKnown || this.facts.isExcused(stay)) return true;
    for (const owner of stay.lease.owner.split(',')) this.#checkInRedis(stay, owner);
    return true;
  }

  /** Each grant names the count that it wants. Nothing else of its owner is on its way then. */
  granted(stay: Stay): void {
    const parent = parentOf(stay);
    if (parent === undefined && stay.weight === 1) this.#checkOwn(stay);
    // Readers join together.
    if (parent === undefined || stay.weight === 1) this.counts(stay);
    if (parent === undefined || stay.weight < 1) return;
    for (const other of this.facts.on(stay.key)) {
      if (other === stay || parentOf(other) !== parent) continue;
      this.facts.broken(
        'turns of siblings',
        `${of(other)} and ${of(stay)} hold ${stay.key} at once`,
      );
    }
  }

  /** A grant ends what its process has held before, whatever Redis has lost. */
  #checkOwn(stay: Stay): void {
    const { rules } = this.facts;
    for (const other of this.facts.on(stay.key)) {
      if (!rules.isCounted || other.process !== stay.process || !isHeld(other)) continue;
      this.facts.broken(
        'exclusion',
        `${of(stay)} and ${of(other)} of one process hold ${stay.key}`,
      );
    }
  }

  counts(stay: Stay): void {
    const { rules } = this.facts;
    const { key, lease, at } = stay;
    if (!rules.isCounted || this.facts.hasLostData(rootOf(stay).at)) return;
    // The siblings of a reader join beside it.
    if (stay.weight < 1 && parentOf(stay) !== undefined) return;
    const expected = depthOf(stay);
    const count = rules.held(key, lease.owner)?.count;
    if (count === undefined || count === expected) return;
    const counts = `${String(count)} in Redis, and not ${String(expected)}`;
    this.facts.broken('hold count', `${of(stay)}, of ${String(at)}, has a count of ${counts}`);
  }

  #checkOthers(stay: Stay): void {
    const { key } = stay;
    // Nested calls have one owner.
    const weights = new Map<string, number>();
    for (const other of this.facts.on(key)) {
      const isHolder = other === stay || (!other.process.isStill && isHeld(other));
      const isSure = other.lease.remainingMs > this.#unnoticedMs(other);
      if (!isHolder || !isSure || this.facts.isExcused(other)) continue;
      weights.set(other.lease.owner, other.weight);
    }
    const weight = [...weights.values()].reduce((sum, one) => sum + one, 0);
    if (weight <= 1.000001) return;
    const all = [...this.facts.on(key)].filter(isHeld).map(of);
    this.facts.broken('exclusion', `${all.join(' and ')} hold ${key}`);
  }

  #checkInRedis(stay: Stay, owner: string): void {
    const { facts } = this;
    const { key, lease } = stay;
    const held = facts.rules.held(key, owner);
    const name = of(stay);
    if (held === undefined) {
      if (lease.remainingMs <= this.#unnoticedMs(stay)) return;
      facts.broken('held in Redis', `${name} believes that it holds ${key}, and Redis does not`);
    } else if (held.leftMs === Infinity) {
      facts.broken('lease ends', `${name} holds ${key} without an end`);
    } else if (lease.remainingMs > held.leftMs + TICK_MS + this.#unnoticedMs(stay)) {
      const times = `${String(lease.remainingMs)} ms, and Redis knows of ${String(held.leftMs)} ms`;
      facts.broken('held in Redis', `${name} believes that it holds ${key} for ${times}`);
    }
  }

  /** A wall clock that is set back hides as much of a suspension. */
  #unnoticedMs(stay: Stay): number {
    const leastMs = this.facts.rules.unnoticedMs(stay.leaseMs);
    return leastMs === 0 ? 0 : leastMs + stay.process.setBackMs(rootOf(stay).at);
  }
}

function depthOf(stay: Stay): number {
  const parent = parentOf(stay);
  return parent === undefined ? 1 : depthOf(parent) + 1;
}
