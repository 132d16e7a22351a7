import { TimerHeap } from '../time/timer-heap.js';
import type { Clock } from '../time/clock.js';
import { LockBackendError, MovingSlotError } from '../api/errors.js';
import { leadOf, type Hold } from './hold.js';
import type { Renewal, RenewalAnswer } from './protocol.js';
import { tell, type LockedKind, type LockObserver } from '../api/observer.js';
import { MOVING_MS, type RedisConnection } from '../redis/connection.js';

/** Keys of one renewal script; more would keep Redis from its other clients for too long. */
const BATCH_SIZE = 250;
/** Renewals that are due within this part of their interval travel together. */
const TOGETHER = 1 / 40;
/** Between two tries to renew what could not be renewed, at least. */
const SHORTEST_PAUSE_MS = 20;
/** What was handed on with less than its lease gets the rest after so long: a short work needs none. */
const OWED_MS = 50;

/** How renewals are sent. */
interface Way {
  readonly minReplicas: number;
  /** Until then the slot may have some of its keys here and some there: each travels alone. */
  movingUntil: number;
}

/**
 * The renewals that wait for one connection, and there for one slot: one that gets no answer delays only
 * its own.
 */
interface Lane extends Way {
  readonly batches: Map<LockedKind, Hold[]>;
  isRunning: boolean;
}

/**
 * Looks after every hold of a connection by one timer: renews the watched ones at every third of
 * their lease, and tells each of them when it is in doubt and when it is over.
 */
export class Watchdog {
  readonly #lanes = new Map<string, Lane>();
  readonly #agenda: TimerHeap<Hold>;
  readonly #intervalMs: number;
  readonly #stopListening: () => void;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    private readonly leaseTimeMs: number,
    private readonly observer: LockObserver | undefined,
    private readonly onLost: (hold: Hold, reason: 'expired' | 'gone') => void,
  ) {
    this.#intervalMs = leaseTimeMs / 3;
    this.#agenda = new TimerHeap<Hold>(clock, {
      due: (hold) => {
        this.#look(hold);
      },
      allDue: () => {
        this.#run();
      },
    });
    this.#stopListening = connection.onUp(() => {
      for (const hold of this.holds()) if (hold.doubt !== undefined) this.renewSoon(hold);
    });
  }

  get size(): number {
    return this.#agenda.size;
  }

  holds(): Hold[] {
    return this.#agenda.items();
  }

  add(hold: Hold): void {
    const now = this.clock.now();
    // The first renewal comes at a random time, so that locks taken together are not renewed so.
    hold.renewAt = this.#together(now + this.#intervalMs * (0.5 + Math.random() / 2));
    if (hold.owedLeaseMs > 0) {
      hold.renewAt = Math.min(hold.renewAt, now + Math.min(OWED_MS, hold.remainingMs / 3));
    }
    this.#plan(hold, now);
  }

  remove(hold: Hold): void {
    this.#agenda.delete(hold);
  }

  /** The hold has another lease, or a longer one: what is due next may have changed. */
  replan(hold: Hold): void {
    if (isGuarded(hold)) this.#plan(hold);
  }

  renewSoon(hold: Hold): void {
    hold.renewAt = 0;
    this.replan(hold);
  }

  close(): void {
    this.#stopListening();
    this.#agenda.clear();
    this.#lanes.clear();
  }

  #isWatched(hold: Hold, now: number): boolean {
    if (hold.owedLeaseMs > 0) return true;
    for (const lease of hold.leases) if (now < lease.watchedUntil) return true;
    return false;
  }

  /** From here on, a step that Redis has not answered puts the hold in doubt. */
  #doubtAt(hold: Hold): number {
    return hold.validUntil - hold.leaseTimeMs / 3;
  }

  /** Enters the next time at which something has to happen. */
  #plan(hold: Hold, now = this.clock.now()): void {
    let next = hold.validUntil;
    if (this.#isWatched(hold, now)) {
      const doubtAt = this.#doubtAt(hold);
      if (now < doubtAt) next = Math.min(next, doubtAt);
      if (!hold.renewing) next = Math.min(next, hold.renewAt);
    }
    this.#agenda.set(hold, next);
  }

  #look(hold: Hold): void {
    const now = this.clock.now();
    if (now >= hold.validUntil) {
      this.onLost(hold, 'expired');
      return;
    }
    if (this.#isWatched(hold, now)) {
      const isUnanswered = hold.renewing || hold.isBusy;
      if (isUnanswered && now >= this.#doubtAt(hold)) {
        this.#doubt(hold, NO_ANSWER());
        // Whoever heard of it may have given the hold back at once.
        if (!isGuarded(hold)) return;
      }
      if (!hold.renewing && now >= hold.renewAt) this.#enqueue(hold);
    }
    this.#plan(hold, now);
  }

  #doubt(hold: Hold, error: unknown): void {
    if (!hold.suspect(error)) return;
    const { name, kind, label } = hold;
    tell(this.observer, { type: 'suspect', name, kind, label, error });
  }

  #enqueue(hold: Hold): void {
    hold.renewing = true;
    const { node, slot } = this.connection.place(hold.key);
    const { protocol, minReplicas } = hold;
    const isPlain = minReplicas === 0 && slot === 0;
    const way = isPlain ? node : `${node} ${String(slot)} ${String(minReplicas)}`;
    let lane = this.#lanes.get(way);
    if (lane === undefined) this.#lanes.set(way, (lane = newLane(minReplicas)));
    const holds = lane.batches.get(protocol.kind);
    if (holds === undefined) lane.batches.set(protocol.kind, [hold]);
    else holds.push(hold);
  }

  #run(): void {
    for (const [way, lane] of this.#lanes) if (!lane.isRunning) void this.#runLane(way, lane);
  }

  /** One script on its way in each lane: renewals must not pile up before what stands still. */
  async #runLane(way: string, lane: Lane): Promise<void> {
    lane.isRunning = true;
    for (let holds = this.#take(lane); holds !== undefined; holds = this.#take(lane)) {
      if (this.#isMoving(lane)) await this.#renewApart(holds, lane);
      else await this.#renew(holds, lane);
    }
    lane.isRunning = false;
    if (!this.#isMoving(lane)) this.#lanes.delete(way);
  }

  #isMoving({ movingUntil }: Way): boolean {
    return this.clock.now() < movingUntil;
  }

  /** The next batch, without those that are over or busy; undefined when nothing waits. */
  #take(lane: Lane): Hold[] | undefined {
    for (const [kind, waiting] of lane.batches) {
      let holds: Hold[] = [];
      while (waiting.length > 0 && holds.length === 0) {
        holds = waiting.splice(0, BATCH_SIZE).filter((hold) => this.#isToRenew(hold));
      }
      if (waiting.length === 0) lane.batches.delete(kind);
      if (holds.length > 0) return holds;
    }
    return undefined;
  }

  /** One that is busy is renewed when it is its turn among the steps of its owner. */
  #isToRenew(hold: Hold): boolean {
    if (!hold.isLive || !isGuarded(hold)) hold.renewing = false;
    else if (hold.isBusy) void hold.serially(() => this.#renewAlone(hold));
    else return true;
    return false;
  }

  async #renewAlone(hold: Hold): Promise<void> {
    if (hold.isLive && isGuarded(hold)) await this.#renew([hold], newLane(hold.minReplicas));
    else hold.renewing = false;
  }

  async #renew(holds: readonly Hold[], way: Way): Promise<void> {
    const [first] = holds;
    if (first === undefined) return;
    const renewals = holds.map((hold) => this.#renewalOf(hold));
    const running = first.protocol.renew(renewals, way.minReplicas);
    const end = () => {
      for (const hold of holds) hold.endStep();
    };
    running.then(end, end);
    const lead = leadOf(this.clock);
    for (const hold of holds) hold.beginStep(lead);
    try {
      const { value, sentAt } = await running;
      tell(this.observer, { type: 'renewed', leases: holds.length });
      holds.forEach((hold, i) => {
        this.#onAnswer(hold, value[i] ?? false, sentAt, renewals[i]?.leaseTimeMs ?? 0);
      });
    } catch (error) {
      if (holds.length > 1 && mayBeOfOne(error)) {
        if (error instanceof MovingSlotError) way.movingUntil = this.clock.now() + MOVING_MS;
        await this.#renewApart(holds, way);
        return;
      }
      tell(this.observer, { type: 'renewal-failed', leases: holds.length, error });
      for (const hold of holds) this.#onFailure(hold, error);
    }
  }

  /** Of 250, one that is refused is found by 16 scripts, in the time of eight. */
  async #renewApart(holds: readonly Hold[], way: Way): Promise<void> {
    const size = this.#isMoving(way) ? 1 : Math.ceil(holds.length / 2);
    const renewing: Promise<void>[] = [];
    for (let from = 0; from < holds.length; from += size) {
      const part = holds.slice(from, from + size).filter((hold) => this.#isToRenew(hold));
      renewing.push(this.#renew(part, way));
    }
    await Promise.all(renewing);
  }

  #onFailure(hold: Hold, error: unknown): void {
    if (hold.isLive) this.#doubt(hold, error);
    // What was handed on is worth less so far, and must be asked for again in time.
    const pauseMs = Math.min(this.#intervalMs, hold.leaseTimeMs / 3) / 4;
    hold.renewing = false;
    hold.renewAt = this.clock.now() + Math.max(SHORTEST_PAUSE_MS, pauseMs);
    if (hold.isLive) this.replan(hold);
  }

  /** Never asks for less than Redis has promised already. */
  #renewalOf(hold: Hold): Renewal {
    const wanted = hold.owedLeaseMs > 0 ? hold.owedLeaseMs : this.leaseTimeMs;
    const leaseTimeMs = Math.max(wanted, Math.ceil(hold.remainingMs));
    return { key: hold.key, owner: hold.owner, leaseTimeMs };
  }

  #onAnswer(hold: Hold, answer: RenewalAnswer, sentAt: number, leaseTimeMs: number): void {
    hold.renewing = false;
    if (!hold.isLive || !isGuarded(hold)) return;
    if (answer instanceof LockBackendError) {
      this.#onFailure(hold, answer);
      return;
    }
    if (!answer) {
      this.onLost(hold, 'gone');
      return;
    }
    const { doubt } = hold;
    hold.confirm(sentAt, leaseTimeMs);
    // An answer to what was sent before the machine stood still confirms nothing since.
    const isSuspended = hold.isSuspended();
    hold.renewAt = isSuspended ? 0 : this.#together(sentAt + this.#intervalMs);
    if (isSuspended) hold.doubt = doubt;
    else if (doubt !== undefined) this.#tellRecovered(hold);
    this.#plan(hold);
  }

  #tellRecovered({ name, kind, label }: Hold): void {
    tell(this.observer, { type: 'recovered', name, kind, label });
  }

  #together(at: number): number {
    const step = this.#intervalMs * TOGETHER;
    return Math.floor(at / step) * step;
  }
}

function newLane(minReplicas: number): Lane {
  return { minReplicas, movingUntil: 0, batches: new Map(), isRunning: false };
}

/** Redis has refused it, maybe for the sake of one key; together the others would share its fate. */
function mayBeOfOne(error: unknown): boolean {
  if (!(error instanceof LockBackendError) || error instanceof MovingSlotError) return true;
  return error.outcome === 'none' && !error.retryable;
}

/** Whoever is looked after has something that is due next. */
function isGuarded(hold: Hold): boolean {
  return hold.agendaIndex !== -1;
}

const NO_ANSWER = () =>
  new LockBackendError('Redis has not answered a renewal for a third of the lease', {
    retryable: true,
    outcome: 'unknown',
  });
