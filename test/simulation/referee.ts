import type { LeaseLostError } from '../../libs/redis-lock/src/core/api/errors.js';
import type { LockObserver } from '../../libs/redis-lock/src/core/api/observer.js';
import type { History } from './history.js';
import { Events } from './referee/events.js';
import { Exclusion } from './referee/exclusion.js';
import { Facts } from './referee/facts.js';
import { Leases, type Leaving } from './referee/leases.js';
import { Order } from './referee/order.js';
import { Outsiders } from './referee/outsiders.js';
import { Progress } from './referee/progress.js';
import type { Asked, Promised, Rules, Stay, Violation } from './referee/promises.js';
import { ReadersAndWriters } from './referee/readers-and-writers.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { World } from '../../libs/world/src/world.js';

export type {
  Asked,
  HeldLease,
  JavaRules,
  Outsider,
  Promised,
  Rules,
  Stay,
  Violation,
} from './referee/promises.js';
export { of, SLACK_MS } from './referee/promises.js';

/** Sees every step of every process at once, and knows what must never happen. */
export class Referee {
  sections = 0;
  /** When a caller has got what it wanted last. */
  progressAt = 0;
  readonly outsiders: Outsiders;
  readonly #facts: Facts;
  readonly #exclusion: Exclusion;
  readonly #leases: Leases;
  readonly #order: Order;
  readonly #readersAndWriters: ReadersAndWriters;
  readonly #progress: Progress;
  readonly #events: Events;
  /** All that callers have asked for. */
  readonly #keys = new Set<string>();

  constructor(
    private readonly world: World,
    history: History,
    rules: Rules,
  ) {
    const facts = new Facts(world, history, rules);
    this.#facts = facts;
    this.outsiders = new Outsiders(facts);
    this.#exclusion = new Exclusion(facts);
    this.#leases = new Leases(facts);
    this.#order = new Order(facts);
    this.#readersAndWriters = new ReadersAndWriters(facts);
    this.#progress = new Progress(facts, this.#leases);
    this.#events = new Events(facts);
  }

  get violation(): Violation | undefined {
    return this.#facts.violation;
  }

  broken(promise: Promised, text: string): void {
    this.#facts.broken(promise, text);
  }

  /**
   * @param process none: every process may feel it
   * @param until its consequences are over at this time
   */
  disturbed(process: SimulatedProcess | undefined, until: number): void {
    this.#facts.disturbed(process, until);
  }

  /** Redis may have forgotten, until this time, what it has granted. */
  lostData(until: number): void {
    this.#facts.lostData(until);
  }

  /** Whether Redis may have forgotten what it granted since then. */
  hasLostData(since: number): boolean {
    return this.#facts.hasLostData(since);
  }

  /** Whether something has disturbed this process, or a server, since then. */
  wasDisturbed(process: SimulatedProcess, since: number): boolean {
    return this.#facts.wasDisturbed(process, since);
  }

  /** Whether nothing disturbs anything now, and has not for this time. */
  isQuiet(ms = 0): boolean {
    return this.#facts.isQuiet(ms);
  }

  /** The consequences of the last disturbance are over then. */
  get quietSince(): number {
    return this.#facts.quietSince;
  }

  asked(asked: Asked): void {
    this.#keys.add(asked.key);
    this.#readersAndWriters.asked(asked);
    this.#facts.asked(asked, this.#facts.waiting);
  }

  /** A caller got what it wanted. */
  progressed(): void {
    this.sections += 1;
    this.progressAt = this.world.now;
  }

  /**
   * The call has returned without a lease.
   * @param isOver its time is up: it has had all its attempts
   */
  refused(asked: Asked, isOver: boolean): void {
    this.#facts.waiting.delete(asked);
    this.#readersAndWriters.refused(asked);
    this.#progress.refused(asked, isOver);
    this.#order.refused(asked);
  }

  /** @param asked has this lease, or one for each of several keys */
  granted(asked: Asked, stays: readonly Stay[]): void {
    this.#facts.waiting.delete(asked);
    for (const stay of stays) {
      this.progressed();
      this.#keys.add(stay.key);
      this.#leases.granted(stay);
      this.#order.granted(stay);
      this.#readersAndWriters.granted(stay);
      this.#exclusion.granted(stay);
      this.#keep(stay);
    }
  }

  /** A Java thread holds it. */
  entered(stay: Stay): void {
    this.progressed();
    this.#keys.add(stay.key);
    this.#keep(stay);
  }

  /** Its process looks whether it still holds it. */
  look(stay: Stay): boolean {
    this.#leases.look(stay);
    return this.#exclusion.look(stay);
  }

  /** Its nested calls have ended, and have left no doubt. */
  counts(stay: Stay): void {
    this.#exclusion.counts(stay);
  }

  left(stay: Stay): void {
    this.#facts.stays.get(stay.key)?.delete(stay);
    this.#readersAndWriters.left(stay);
    this.outsiders.left(stay);
    this.#changed(stay);
  }

  leaving(stay: Stay): Leaving {
    return this.#leases.leaving(stay);
  }

  released(stay: Stay, before: Leaving, error?: unknown): void {
    this.#leases.released(stay, before, error);
  }

  /** The library reports that it is lost. */
  lost(stay: Stay, reason: LeaseLostError['reason']): void {
    this.#order.disorder(stay.key);
    this.#leases.lost(stay, reason);
  }

  /** A job runs for its slot, after a call at this time. */
  ran(job: string, since: number): void {
    this.progressed();
    this.#leases.ran(job, since);
  }

  /** A guarded resource has refused a write: there is a newer holder. */
  overtaken(key: string, token: number): void {
    this.#leases.overtaken(key, token);
  }

  /** A guarded resource has accepted a write. */
  wrote(key: string, token: number, since: number): void {
    this.#leases.wrote(key, token, since);
  }

  /** @param id the beginning of its owners */
  dead(process: SimulatedProcess, id: string): void {
    this.#progress.dead(id, this.#keys);
    this.#facts.dead(process);
  }

  observer(process: SimulatedProcess): LockObserver {
    return this.#events.of(process);
  }

  /** It has shut down. */
  closed(process: SimulatedProcess, id: string): void {
    this.#events.closed(process);
    this.#progress.closed(id, this.#keys);
  }

  lookAround(): void {
    this.#progress.lookAround(this.#keys);
    this.outsiders.lookAround();
  }

  #keep(stay: Stay): void {
    this.outsiders.entered(stay);
    this.#facts.keep(stay);
    this.#changed(stay);
    this.look(stay);
  }

  #changed({ key }: Stay): void {
    this.#facts.changedAt.set(key, this.world.now);
  }
}
