import { LockBackendError, MovingSlotError } from '../api/errors.js';
import { tell } from '../api/observer.js';
import type { Session } from '../session.js';
import { outOfScope, queueMicrotask } from '../time/clock.js';
import type { Hold, HoldGuard } from './hold.js';
import { mayBeOfOne, newLane, together, type Lane } from './lanes.js';
import { leadOf } from './owner-steps.js';
import type { RenewalAnswer } from './protocol.js';

/** Keys of one renewal script. More would delay the other clients of Redis for too long. */
const BATCH_SIZE = 250;
/** The shortest pause before a failed renewal is repeated. */
const SHORTEST_PAUSE_MS = 20;

/** When a renewal was sent and answered, and the lead of the wall clock then. */
interface Renewed {
  readonly sentAt: number;
  readonly askedLead: number;
  readonly now: number;
  readonly lead: number;
}

/**
 * Checks each hold of a session when something is due. Renews watched holds at each third of their
 * lease. Suspects those without an answer, and loses those whose lease is over.
 */
export class Watchdog implements HoldGuard {
  private readonly lanes = new Map<string, Lane>();
  private readonly stopListening: () => void;
  private isCalled = false;
  /** The number of holds that it guards. */
  size = 0;

  constructor(
    private readonly session: Session,
    private readonly onLost: (hold: Hold, reason: 'expired' | 'gone') => void,
  ) {
    this.stopListening = session.connection.onUp(() => {
      for (const hold of this.holds()) if (hold.failed !== undefined) this.renewSoon(hold);
    });
  }

  /** In no order. */
  holds(): Hold[] {
    const holds = this.session.times.items() as Partial<Hold>[];
    return holds.filter((item): item is Hold => item.guard === this);
  }

  add(hold: Hold, now: number): void {
    hold.guard = this;
    this.size += 1;
    // The first renewal comes at a random time: locks that were acquired together spread out.
    const periodMs = this.intervalOf(hold);
    hold.renewAt = together(now + periodMs * (0.5 + this.session.random.number() / 2), periodMs);
    if (hold.owedLeaseMs > 0) {
      outOfScope(() => {
        this.renewOwed(hold);
      });
    }
    this.plan(hold, now);
  }

  remove(hold: Hold): void {
    if (hold.guard !== this) return;
    hold.guard = undefined;
    this.size -= 1;
    this.session.times.delete(hold);
  }

  /** The hold may have another lease, or a longer one; or an observer may have released it. */
  replan(hold: Hold, now?: number): void {
    if (hold.guard === this) this.plan(hold, now);
  }

  renewSoon(hold: Hold): void {
    hold.renewAt = 0;
    this.replan(hold);
  }

  close(): void {
    this.stopListening();
    for (const hold of this.holds()) this.remove(hold);
    this.lanes.clear();
  }

  look(hold: Hold): void {
    const now = this.session.clock.now();
    if (now >= hold.validUntil) {
      this.expire(hold, now);
      return;
    }
    if (hold.isWatched(now)) {
      if (hold.renewing && now >= doubtAt(hold)) {
        this.doubt(hold, NO_ANSWER());
        // An observer may have released the hold.
        if (hold.guard !== this) return;
      }
      if (!hold.renewing && now >= hold.renewAt) this.enqueue(hold);
    }
    this.plan(hold, now);
  }

  /** After the process stood still, the answer to a renewal may be here, and not read yet. */
  private expire(hold: Hold, now: number): void {
    if (!hold.renewing) {
      this.onLost(hold, 'expired');
      return;
    }
    const { clock, times } = this.session;
    times.set(hold, now + SHORTEST_PAUSE_MS);
    clock.afterReading(() => {
      if (hold.guard === this && clock.now() >= hold.validUntil) this.onLost(hold, 'expired');
    });
  }

  /** Sets the next time at which something has to happen. */
  private plan(hold: Hold, now = this.session.clock.now()): void {
    let next = hold.validUntil;
    if (hold.isWatched(now)) {
      const doubtful = doubtAt(hold);
      if (now < doubtful) next = doubtful;
      if (!hold.renewing && hold.renewAt < next) next = hold.renewAt;
    }
    this.session.times.set(hold, next);
  }

  private doubt(hold: Hold, error: unknown): void {
    hold.fail(error);
    if (!hold.suspect()) return;
    const { name, kind, label } = hold;
    tell(this.session.settings.observer, { type: 'suspect', name, kind, label, error });
  }

  private enqueue(hold: Hold): void {
    hold.renewing = true;
    const { node, slot } = this.session.connection.place(hold.key);
    const { protocol, minReplicas } = hold;
    const isPlain = minReplicas === 0 && slot === 0;
    const way = isPlain ? node : `${node} ${String(slot)} ${String(minReplicas)}`;
    let lane = this.lanes.get(way);
    if (lane === undefined) this.lanes.set(way, (lane = newLane(minReplicas)));
    const holds = lane.batches.get(protocol.kind);
    if (holds === undefined) lane.batches.set(protocol.kind, [hold]);
    else holds.push(hold);
    // After all holds that are due now.
    if (this.isCalled) return;
    this.isCalled = true;
    queueMicrotask(() => {
      this.isCalled = false;
      for (const [way, lane] of this.lanes) if (!lane.isRunning) void this.runLane(way, lane);
    });
  }

  /** One script on its way in each lane: renewals must not pile up while Redis does not answer. */
  private async runLane(way: string, lane: Lane): Promise<void> {
    lane.isRunning = true;
    for (let holds = this.take(lane); holds !== undefined; holds = this.take(lane)) {
      if (this.isMoving(holds)) await this.renewApart(holds, lane.minReplicas, 1);
      else await this.renew(holds, lane.minReplicas);
    }
    lane.isRunning = false;
    this.lanes.delete(way);
  }

  /** Their keys may be on two nodes, so each has its own script. */
  private isMoving([first]: readonly Hold[]): boolean {
    return first !== undefined && this.session.connection.isMoving?.(first.key) === true;
  }

  /** The next batch, without those that are over. Undefined when nothing waits. */
  private take(lane: Lane): Hold[] | undefined {
    for (const [kind, waiting] of lane.batches) {
      let holds: Hold[] = [];
      while (waiting.length > 0 && holds.length === 0) {
        holds = waiting.splice(0, BATCH_SIZE).filter((hold) => this.isToRenew(hold));
      }
      if (waiting.length === 0) lane.batches.delete(kind);
      if (holds.length > 0) return holds;
    }
    return undefined;
  }

  /**
   * It does not wait for the other steps of its owner. A nested acquire may be repeated for longer
   * than the lease, and a renewal changes no count and creates nothing.
   */
  private isToRenew(hold: Hold): boolean {
    const isHeld = hold.isLive && hold.guard === this;
    if (!isHeld) hold.renewing = false;
    return isHeld;
  }

  /**
   * Another process has handed the lock over, with a shorter lease. The caller goes on now, and may
   * block the event loop: Redis must have its lease before. No other step waits for the answer. But
   * it could prolong what `minHoldMs` keeps.
   */
  private renewOwed(hold: Hold): void {
    hold.renewing = true;
    void this.renew([hold], hold.minReplicas, hold.options.minHoldMs > 0);
    this.session.connection.flush?.();
  }

  /** @param isStep the other steps of each owner wait for the answer */
  private async renew(holds: readonly Hold[], minReplicas: number, isStep = true): Promise<void> {
    const [first] = holds;
    if (first === undefined) return;
    const { clock, settings } = this.session;
    const askedAt = clock.now();
    for (const hold of holds) hold.renewMs = this.wantedMs(hold, askedAt);
    const running = first.protocol.renew(holds, minReplicas);
    const askedLead = leadOf(clock);
    if (isStep) beginRenewals(holds, running);
    try {
      const { value, sentAt } = await running;
      const leases = holds.filter(({ guard }) => guard === this).length;
      if (leases > 0) tell(settings.observer, { type: 'renewed', leases });
      const now = clock.now();
      const renewed = { sentAt, askedLead, now, lead: leadOf(clock, now) };
      holds.forEach((hold, i) => {
        this.onAnswer(hold, value[i] ?? false, renewed);
      });
    } catch (error) {
      if (holds.length > 1 && mayBeOfOne(error)) {
        const size = error instanceof MovingSlotError ? 1 : Math.ceil(holds.length / 2);
        await this.renewApart(holds, minReplicas, size);
        return;
      }
      tell(settings.observer, { type: 'renewal-failed', leases: holds.length, error });
      for (const hold of holds) this.onFailure(hold, error);
    }
  }

  /** Among 250 holds, 16 scripts find the refused one, in the time of 8. */
  private async renewApart(
    holds: readonly Hold[],
    minReplicas: number,
    size: number,
  ): Promise<void> {
    const renewing: Promise<void>[] = [];
    for (let from = 0; from < holds.length; from += size) {
      const part = holds.slice(from, from + size).filter((hold) => this.isToRenew(hold));
      renewing.push(this.renew(part, minReplicas));
    }
    await Promise.all(renewing);
  }

  private onFailure(hold: Hold, error: unknown): void {
    if (hold.isLive && hold.guard === this) this.doubt(hold, error);
    // A lock that was handed over has a shorter lease, and must be renewed again in time.
    const pauseMs = Math.min(this.intervalOf(hold), hold.leaseMs / 3) / 4;
    hold.renewing = false;
    hold.renewAt = this.session.clock.now() + Math.max(SHORTEST_PAUSE_MS, pauseMs);
    if (hold.isLive) this.replan(hold);
  }

  /** Never requests less than Redis has already promised. */
  private wantedMs({ owedLeaseMs, watchdogLeaseMs, validUntil }: Hold, now: number): number {
    return Math.max(owedLeaseMs || watchdogLeaseMs, Math.ceil(validUntil - now));
  }

  /** A lock that was handed over is renewed once even if its lease is fixed. */
  private intervalOf({ watchdogLeaseMs }: Hold): number {
    return (watchdogLeaseMs || this.session.settings.watchdogLeaseMs) / 3;
  }

  private onAnswer(hold: Hold, answer: RenewalAnswer, renewed: Renewed): void {
    hold.renewing = false;
    if (!hold.isLive || hold.guard !== this) return;
    if (answer === true) this.onRenewed(hold, renewed);
    else if (answer === false) this.onLost(hold, 'gone');
    else this.onFailure(hold, answer);
  }

  private onRenewed(hold: Hold, { sentAt, askedLead, now, lead }: Renewed): void {
    const { failed } = hold;
    const wasSuspect = hold.confirm(sentAt, hold.renewMs, askedLead);
    // An answer to a script sent before the machine stood still confirms nothing later.
    const isSuspended = hold.isSuspended(lead);
    const intervalMs = this.intervalOf(hold);
    hold.renewAt = isSuspended ? 0 : together(sentAt + intervalMs, intervalMs);
    if (isSuspended) {
      hold.failed = failed;
      if (wasSuspect) hold.suspect();
    } else if (wasSuspect) {
      const { name, kind, label } = hold;
      tell(this.session.settings.observer, { type: 'recovered', name, kind, label });
    }
    this.replan(hold, now);
  }
}

/** From here on, a renewal without an answer from Redis puts the hold in doubt. */
function doubtAt({ validUntil, leaseMs }: Hold): number {
  return validUntil - leaseMs / 3;
}

function beginRenewals(holds: readonly Hold[], running: Promise<unknown>): void {
  const end = () => {
    for (const hold of holds) hold.renewalAnswered();
  };
  running.then(end, end);
  for (const hold of holds) hold.beginRenewal();
}

const NO_ANSWER = () =>
  new LockBackendError('Redis did not answer a renewal for a third of the lease', {
    retryable: true,
    outcome: 'unknown',
  });
