import { releasedError, type LeaseLostError } from '../api/errors.js';
import { hearsCalls, tell } from '../api/observer.js';
import type { Reply } from '../redis/connection.js';
import { untilAnswered, type Tries } from '../redis/retry.js';
import type { Session } from '../session.js';
import { outOfScope } from '../time/clock.js';
import { Deadline } from '../time/deadline.js';
import { Idle } from '../time/idle.js';
import type { Hold } from './hold.js';
import { leadOf } from './owner-steps.js';
import { Patience, PATIENCE_MS } from './patience.js';
import type { OwnerId, ReleaseAnswer } from './protocol.js';
import { Watchdog } from './watchdog.js';

/** A hold whose last lease is being released. */
export interface Leaving {
  readonly hold: Hold;
  /** Its index in the list; -1 outside. */
  leavingIndex: number;
}

/** All holds of a session. Renews them, loses them, and waits for their end at a shutdown. */
export class Holds {
  private readonly leaving: Leaving[] = [];
  private readonly watchdog: Watchdog;
  private readonly idle: Idle;
  private isClosed = false;

  constructor(private readonly session: Session) {
    this.watchdog = new Watchdog(session, (hold, reason) => {
      this.lose(hold, reason);
    });
    this.idle = new Idle(
      session.times,
      () => this.watchdog.size === 0 && this.leaving.length === 0,
    );
  }

  /** Those that are neither released nor lost. */
  get all(): readonly Hold[] {
    return this.watchdog.holds();
  }

  /** A lease that Redis has just granted was added to the hold. */
  watch(hold: Hold, now: number): void {
    if (hold.guard === undefined) this.watchdog.add(hold, now);
    else this.watchdog.replan(hold);
  }

  /** Those of one key that are neither released nor lost, nor being released. */
  on(key: string): readonly Hold[] {
    return this.all.filter((hold) => hold.key === key);
  }

  /** Another owner was granted what this hold excludes. If it is not being released, it is gone. */
  exclude(hold: Hold, { companion }: Hold): void {
    if (hold.guard !== undefined && hold.owner !== companion) this.lose(hold, 'gone');
  }

  excludeReaders(writer: Hold): void {
    for (const hold of this.on(writer.key)) {
      if (hold.protocol.isReadSide === true) this.exclude(hold, writer);
    }
  }

  /**
   * Redis has shown all owners of a key, or all permits.
   * @param holds granted before the request for it was sent
   */
  compare(holds: readonly Hold[], shown: readonly { readonly owner: OwnerId }[]): void {
    if (holds.length === 0) return;
    const owners = new Set(shown.map(({ owner }) => owner));
    for (const hold of holds) {
      const isShown = hold.owner.split(',').every((one) => owners.has(one));
      if (!isShown && hold.guard !== undefined) this.lose(hold, 'gone');
    }
  }

  renewSoon(hold: Hold): void {
    this.watchdog.renewSoon(hold);
  }

  renew(hold: Hold, leaseTimeMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const now = this.session.clock.now();
      const caller = new Patience(hold, 'renewed', resolve, reject).begin(now);
      caller.follow(hold.renew(leaseTimeMs, (ms, tries) => this.renewNow(hold, ms, tries)));
    });
  }

  /** The last lease of the hold is released from now on. */
  leave(one: Leaving): void {
    this.watchdog.remove(one.hold);
    one.leavingIndex = this.leaving.push(one) - 1;
  }

  /** The last lease of this owner is being released. */
  isLeaving(owner: OwnerId): boolean {
    return this.leaving.some(({ hold }) => hold.owner === owner);
  }

  /** Redis has answered the release of the last lease, or will not answer. */
  left(one: Leaving, outcome: 'done' | 'unknown' | 'failed'): void {
    const { hold, leavingIndex } = one;
    if (hold.isLive) {
      hold.end();
      const { observer } = this.session.settings;
      if (hearsCalls(observer)) {
        const { name, kind, label, heldMs } = hold;
        tell(observer, { type: 'released', name, kind, label, outcome, heldMs });
      }
    }
    if (leavingIndex === -1) return;
    one.leavingIndex = -1;
    const last = this.leaving.pop();
    if (last !== undefined && last !== one) {
      this.leaving[leavingIndex] = last;
      last.leavingIndex = leavingIndex;
    }
    this.idle.check();
  }

  /** Final. Notifies every lease of the hold, and releases what Redis may still store. */
  lose(hold: Hold, reason: 'expired' | 'gone' | 'shutdown'): LeaseLostError {
    // The code that finds the loss may run in the async context of another request.
    return hold.lostError ?? outOfScope(() => this.loseNow(hold, reason));
  }

  /**
   * The lease may have expired by the local clock before the watchdog saw it.
   * @throws {LeaseLostError} it is over
   */
  refuseDead(hold: Hold, now = this.session.clock.now()): void {
    if (hold.isLive && hold.isOver(now)) this.lose(hold, 'expired');
    if (hold.lostError !== undefined) throw hold.lostError;
  }

  /** When Redis has certainly ended the hold by itself. */
  endOf(hold: Hold): number {
    return hold.protocol.outlastsLease === true && !this.isClosed ? Infinity : hold.validUntil;
  }

  /**
   * Lowers the hold count in Redis to the leases of the hold, after a nested attempt. Never
   * rejects.
   */
  reconcile(hold: Hold): Promise<void> {
    const releaseSome = async () => {
      // Without a lease, the release of the last one has freed the lock.
      const { length } = hold.leases;
      if (!hold.isLive || length === 0) return;
      await untilAnswered(
        this.session,
        () => hold.validUntil,
        () => hold.protocol.release(hold, length),
        hold,
      );
    };
    return this.session.background.run(() => hold.serially(releaseSome));
  }

  /** Resolves once nothing is held, or the time is up. */
  drain(timeoutMs: number): Promise<void> {
    return this.idle.within(timeoutMs);
  }

  /** Every lease is lost to its holder, and is released in Redis. */
  async close(): Promise<void> {
    const { background, times } = this.session;
    for (const hold of this.all) this.lose(hold, 'shutdown');
    const settled = background.settled();
    await Promise.all([
      this.idle.within(PATIENCE_MS),
      new Deadline(times, PATIENCE_MS, undefined).race(settled),
    ]);
    this.isClosed = true;
    background.close();
    this.watchdog.close();
    // From now on nothing waits for an answer.
    for (const one of [...this.leaving]) this.left(one, 'failed');
  }

  private async renewNow(hold: Hold, leaseTimeMs: number, tries: Tries): Promise<void> {
    this.refuseDead(hold);
    const { key, name, owner } = hold;
    // Its last release has been sent. The renewal would prolong what `minHoldMs` keeps.
    if (hold.guard === undefined) throw releasedError(name);
    const renewMs = Math.max(leaseTimeMs, Math.ceil(hold.remainingMs));
    const lead = leadOf(this.session.clock);
    const renew = () =>
      hold.protocol.renew([{ key, owner, renewMs }], hold.minReplicas).catch((error: unknown) => {
        hold.fail(error);
        throw error;
      });
    const until = () => hold.validUntil;
    const { value, sentAt } = await untilAnswered(this.session, until, renew, tries);
    if (value[0] !== true) throw this.lose(hold, 'gone');
    // It may have expired by the local clock before the answer came.
    this.refuseDead(hold);
    hold.confirm(sentAt, renewMs, lead);
    this.watchdog.replan(hold);
  }

  private loseNow(hold: Hold, reason: 'expired' | 'gone' | 'shutdown'): LeaseLostError {
    const { isLive } = hold;
    const error = hold.lose(reason);
    this.watchdog.remove(hold);
    this.idle.check();
    const { name, kind, label, heldMs } = hold;
    const { background, settings } = this.session;
    // If a shutdown gave up the last release of a hold, its event has already been sent.
    if (isLive) tell(settings.observer, { type: 'lost', name, kind, label, reason, heldMs, error });
    // Redis may still store the key: others need not wait until it expires.
    if (reason !== 'gone') {
      const until = () => (reason === 'expired' ? this.endOf(hold) : -Infinity);
      void background.run(async () => {
        const { value } = await hold.serially(() => this.releaseAll(hold, until));
        if (reason === 'shutdown' && value === 'absent') await this.restore(hold);
      });
    } else void this.restore(hold);
    hold.listener?.ended(hold);
    return error;
  }

  /** The lease has not ended, so no other process has counted its permits. */
  private async restore(hold: Hold): Promise<void> {
    const { capacity, protocol } = hold;
    if (capacity !== undefined) await protocol.restore?.(hold, capacity);
  }

  private releaseAll(hold: Hold, until: () => number): Promise<Reply<ReleaseAnswer>> {
    const release = () => hold.protocol.release(hold, 0, undefined, hold.keepMs);
    return untilAnswered(this.session, until, release, hold);
  }
}
