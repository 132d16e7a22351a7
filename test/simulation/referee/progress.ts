import type { Facts } from './facts.js';
import type { Leases } from './leases.js';
import { isInside, of, ON_ITS_WAY_MS, parentOf, type Asked } from './promises.js';

/** A grant whose caller has left is released within this time. */
const LATE_MS = 400;
/** Splits of votes and polls last for less, on the whole. */
const IDLE_MS = 8_000;
/** Requests of a dead process arrive before this time. */
const DEAD_MS = 50;

/** Callers that wait for what is free, and owners that nobody knows. */
export class Progress {
  readonly #freeSince = new Map<string, number>();
  /** When a queue waited for a score. */
  #scoreAt = -Infinity;
  /** By key, when a call returned without a lease. */
  readonly #refusedAt = new Map<string, number>();
  /** Owners without a caller, by key and owner, since when. */
  readonly #strays = new Map<string, number>();
  /** By the id of a process: when it died, and its owners then. */
  readonly #dead = new Map<string, { readonly at: number; readonly owners: Set<string> }>();

  constructor(
    private readonly facts: Facts,
    private readonly leases: Leases,
  ) {}

  lookAround(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#forgive(key);
      this.#lookAt(key);
      if (this.facts.rules.isKnown) this.#lookAtOwners(key);
    }
    this.#lookAtAll();
    const counts = new Map<string, number>();
    for (const asked of this.facts.waiting) {
      this.#lookAfter(asked);
      if (asked.isNested) this.#lookAfterNested(asked);
      this.#count(asked, counts);
    }
  }

  dead(id: string, keys: Iterable<string>): void {
    const { facts } = this;
    const owners = new Set([...keys].flatMap((key) => facts.rules.owners(key)));
    this.#dead.set(clientOf(id), { at: facts.now, owners });
  }

  /** A single attempt acquires what has been free for a while, if none is beside it. */
  refused(asked: Asked, isOver: boolean): void {
    const { facts } = this;
    const { key, at, waitTimeMs } = asked;
    const lastAt = Math.max(this.#refusedAt.get(key) ?? 0, facts.changedAt.get(key) ?? 0);
    this.#refusedAt.set(key, facts.now);
    if (!isOver || waitTimeMs > 0 || facts.rules.isOfSeveralKeys) return;
    const others = [...facts.waiting, ...facts.outsiders, ...facts.on(key)];
    if (others.some((one) => one.key === key)) return;
    // The release of an earlier holder may be on its way.
    const since = Math.max(this.#freeSince.get(key) ?? Infinity, lastAt) + LATE_MS;
    if (at <= since || !facts.isQuiet(facts.now - since)) return;
    facts.broken('progress', `${of(asked)} is refused, and ${key} is free`);
  }

  /** Nothing is held after a shutdown, except by `minHoldMs`. */
  closed(id: string, keys: Iterable<string>): void {
    const { facts } = this;
    if (!facts.rules.isSmooth) return;
    for (const key of keys) {
      const owner = facts.rules.owners(key).find((one) => clientOf(one) === clientOf(id));
      if (owner === undefined || facts.now < this.leases.keptUntil(key) + ON_ITS_WAY_MS) continue;
      facts.broken('shutdown', `${owner} has ${key} after its shutdown`);
    }
  }

  /** Callers wait, and none holds anything. */
  #lookAtAll(): void {
    const { facts } = this;
    const waiting = [...facts.waiting].filter((one) => one.waitTimeMs > 0 && !one.process.isStill);
    const [first] = waiting;
    if (first === undefined || [...facts.stays.values()].some(({ size }) => size > 0)) return;
    const { freeMs } = facts.rules;
    const asked = Math.max(...waiting.map(({ at }) => at));
    const quietSince = Math.max(facts.quietSince, this.#scoreAt);
    const since = Math.max(quietSince, asked, ...facts.changedAt.values());
    if (facts.now - since <= IDLE_MS + 2 * freeMs) return;
    facts.broken('progress', `${of(first)} waits, and no caller holds anything`);
  }

  #lookAt(key: string): void {
    const { rules, now } = this.facts;
    if (rules.waitsForScore(key)) this.#scoreAt = now;
    if (!rules.isFree(key) || this.#scoreAt === now) this.#freeSince.delete(key);
    else if (!this.#freeSince.has(key)) this.#freeSince.set(key, this.facts.now);
  }

  #lookAfter(asked: Asked): void {
    const { facts } = this;
    const { isOfSeveralKeys, java, pollMs } = facts.rules;
    // The lease of a Java thread may end by itself, and no waiter knows when.
    const freeMs = java === undefined ? facts.rules.freeMs : Math.max(facts.rules.freeMs, pollMs);
    const { key, at, process, waitTimeMs } = asked;
    const since = Math.max(
      ...[this.#freeSince.get(key) ?? Infinity, at, facts.quietSince],
      facts.changedAt.get(key) ?? 0,
    );
    if (
      waitTimeMs === 0 ||
      isOfSeveralKeys ||
      process.isStill ||
      facts.now - since <= freeMs + ON_ITS_WAY_MS
    )
      return;
    const freeFor = String(facts.now - since);
    facts.broken('progress', `${of(asked)} waits for ${key}, which is free for ${freeFor} ms`);
  }

  /** A nested call waits for its siblings only. */
  #lookAfterNested(asked: Asked): void {
    const { facts } = this;
    const parent = parentOf(asked);
    // A red lock waits for the votes of its servers, too.
    if (parent === undefined || asked.weight < 1 || !facts.rules.isKnown) return;
    if (!facts.isQuiet()) return;
    const stays = [...facts.on(asked.key)];
    const isFree = stays.includes(parent) && !stays.some((one) => isInside(one, parent));
    const sinceMs =
      facts.now - Math.max(asked.at, facts.changedAt.get(asked.key) ?? 0, facts.quietSince);
    if (!isFree || sinceMs <= LATE_MS) return;
    facts.broken('progress', `${of(asked)} waits inside of ${of(parent)}, which no sibling is in`);
  }

  #count({ process, key, waitTimeMs, isNested }: Asked, counts: Map<string, number>): void {
    const { isOfTwoSides, isOfSeveralKeys, maxWaitersPerKey } = this.facts.rules;
    if (waitTimeMs === 0 || isNested || isOfTwoSides || isOfSeveralKeys || process.isStill) return;
    const name = `${process.name} ${key}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    if (count > maxWaitersPerKey)
      this.facts.broken('limits', `${name} has ${String(count)} waiters`);
  }

  #lookAtOwners(key: string): void {
    const { facts } = this;
    const owners = facts.rules.owners(key);
    for (const owner of owners) this.#lookAtDead(key, owner);
    // A caller that has one of several keys waits for the others.
    if (facts.rules.isOfSeveralKeys && facts.waiting.size > 0) return;
    const known = new Set([...facts.on(key)].flatMap(({ lease }) => lease.owner.split(',')));
    for (const owner of owners) {
      const name = `${key} ${owner}`;
      const since = this.#strays.get(name);
      const isKept = facts.now < this.leases.keptUntil(key) + ON_ITS_WAY_MS;
      if (known.has(owner) || isKept || !facts.isQuiet()) this.#strays.delete(name);
      else if (since === undefined) this.#strays.set(name, facts.now);
      else if (facts.now - since > LATE_MS) {
        facts.broken('late grants', `${owner} holds ${key} for no caller`);
      }
    }
    for (const name of this.#strays.keys()) {
      const [on, owner = ''] = name.split(' ');
      if (on === key && !owners.includes(owner)) this.#strays.delete(name);
    }
  }

  /** A process that died before its subscription may still be granted the lock. */
  #forgive(key: string): void {
    for (const [client, { at, owners }] of this.#dead) {
      if (this.facts.now - at > DEAD_MS) continue;
      for (const owner of this.facts.rules.unheard(key))
        if (clientOf(owner) === client) owners.add(owner);
    }
  }

  /** A process that is gone for Redis, too, is granted nothing. */
  #lookAtDead(key: string, owner: string): void {
    const { facts } = this;
    const death = this.#dead.get(clientOf(owner));
    if (death === undefined || !facts.rules.knowsDeaths || death.owners.has(owner)) return;
    // Old data bring the dead back.
    if (facts.hasLostData(death.at)) return;
    const forMs = facts.now - death.at;
    // Redis learns of the death a moment later.
    if (forMs <= DEAD_MS) death.owners.add(owner);
    else facts.broken('dead waiters', `${owner}, dead for ${String(forMs)} ms, has ${key}`);
  }
}

/** The client of an owner, or of a permit. */
function clientOf(owner: string): string {
  return owner.replace('-', '').slice(0, 12);
}
