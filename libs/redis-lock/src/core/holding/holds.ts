import type { Clock } from '../time/clock.js';
import { Deadline, NOTHING_TO_UNDO } from '../time/deadline.js';
import {
  LeaseLostError,
  LockBackendError,
  LockStateError,
  quoteName,
  withLockName,
} from '../api/errors.js';
import type { Successor, ReleaseAnswer } from './protocol.js';
import { outcomeOf, type Hold, type Succession } from './hold.js';
import { Idle } from '../time/idle.js';
import type { HeldLease } from './held-lease.js';
import { tell, type LockObserver, type Subject } from '../api/observer.js';
import type { LockSettings } from '../api/options.js';
import { outOfScope } from './scope.js';
import type { RedisConnection, Reply } from '../redis/connection.js';
import { notAnswered, untilAnswered } from '../redis/retry.js';
import { Watchdog } from './watchdog.js';

/** How long a caller of `release` or `renew` waits for Redis. A release is tried on after that. */
const PATIENCE_MS = 2_000;

/** Keeps the promises made with a lease: renews it, says when it is gone, and gives it back. */
export class Keeper {
  readonly #watchdog: Watchdog;
  readonly #observer: LockObserver | undefined;
  /** The holds that are being left for good. */
  readonly #leaving = new Set<Hold>();
  /** Releases nobody waits for: their caller lost patience, or gave up before the grant came. */
  readonly #background = new Set<Promise<unknown>>();
  readonly #idle: Idle;
  #isClosed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    settings: LockSettings,
  ) {
    this.#observer = settings.observer;
    this.#idle = new Idle(clock, () => this.#watchdog.size === 0 && this.#leaving.size === 0);
    this.#watchdog = new Watchdog(
      connection,
      clock,
      settings.leaseTimeMs,
      settings.observer,
      (hold, reason) => {
        this.lose(hold, reason);
      },
    );
  }

  /** Those that are not given back, nor known to be lost. */
  get holds(): readonly Hold[] {
    return this.#watchdog.holds();
  }

  /** Enters a lease that Redis has just granted. */
  keep(lease: HeldLease): void {
    const { hold } = lease;
    const isNew = hold.leases.length === 0;
    hold.add(lease);
    if (isNew) this.#watchdog.add(hold);
    else this.#watchdog.replan(hold);
  }

  renewSoon(hold: Hold): void {
    this.#watchdog.renewSoon(hold);
  }

  async renew(hold: Hold, leaseTimeMs: number): Promise<void> {
    const running = hold.serially(async () => {
      this.#refuseDead(hold);
      const renewal = {
        key: hold.key,
        owner: hold.owner,
        leaseTimeMs: Math.max(leaseTimeMs, Math.ceil(hold.remainingMs)),
      };
      const until = () => hold.validUntil;
      const reply = await this.#ask(hold, until, () =>
        hold.protocol.renew([renewal], hold.minReplicas),
      );
      if (reply.value[0] !== true) throw this.lose(hold, 'gone');
      // It may have been lost by the clock while the answer was on its way.
      this.#refuseDead(hold);
      hold.confirm(reply.sentAt, renewal.leaseTimeMs);
      this.#watchdog.replan(hold);
    });
    await this.#withPatience(hold, running, 'renewed');
  }

  /** Gives one lease back; the last one frees the lock. */
  async giveBack(lease: HeldLease): Promise<void> {
    const { hold } = lease;
    try {
      hold.drop(lease);
      this.#refuseDead(hold);
      const leaving = hold.serially(() => this.#leave(hold));
      await this.#withPatience(hold, leaving, 'released');
    } catch (error) {
      if (error instanceof LeaseLostError) lease.onLost(error);
      if (error instanceof LockBackendError) {
        this.#tellFailed(hold, true, error);
        // Whatever stands in the way may be repaired before the lease ends.
        if (!hold.isLive && !error.retryable)
          void this.abandon(hold, hold.validUntil - this.clock.now());
      }
      throw error;
    } finally {
      lease.onGivenBack();
    }
  }

  /**
   * Gives back what an attempt without a lease got, or may still get. Never rejects, and goes on as
   * long as that could be held.
   */
  abandon(
    hold: Hold,
    leaseTimeMs: number,
    giveBack: () => Promise<Reply<unknown>> = () => leave(hold, 0),
  ): Promise<void> {
    const end = this.clock.now() + leaseTimeMs;
    const insisting = () => this.#insist(end, giveBack);
    return this.#inBackground(() => hold.serially(insisting), hold, true);
  }

  /** Asks for something that nobody waits for, until Redis has done it or time is up. Never rejects. */
  insist(of: Subject, forMs: number, ask: () => Promise<Reply<unknown>>): Promise<void> {
    return this.#inBackground(() => this.#insist(this.clock.now() + forMs, ask), of);
  }

  /** Brings Redis down to the leases of the hold, whatever a nested attempt got. Never rejects. */
  reconcile(hold: Hold): Promise<void> {
    const leaveSome = async () => {
      // The release of the last lease does it all.
      if (!hold.isLive || hold.leases.length === 0) return;
      const holdCount = hold.leases.length;
      const until = () => hold.validUntil;
      await this.#ask(hold, until, () => leave(hold, holdCount));
    };
    return this.#inBackground(() => hold.serially(leaveSome));
  }

  /** Resolves once nothing is held any more, or time is up. */
  drain(timeoutMs: number): Promise<void> {
    return this.#idle.within(timeoutMs);
  }

  /** Takes every lease from its holder, tells him so, and gives it back. */
  async close(): Promise<void> {
    for (const hold of this.#watchdog.holds()) this.lose(hold, 'shutdown');
    const background = Promise.all(this.#background);
    await Promise.all([
      this.#idle.within(PATIENCE_MS),
      new Deadline(this.clock, PATIENCE_MS, undefined).race(background),
    ]);
    this.#isClosed = true;
    this.#watchdog.close();
    // What is not answered by now may never be.
    for (const hold of this.#leaving) this.#end(hold, 'failed');
  }

  /** Final: tells every lease of the hold, and gives back what may still be there. */
  lose(hold: Hold, reason: 'expired' | 'gone' | 'shutdown'): LeaseLostError {
    // The loss may be found in the scope of another request.
    return hold.lostError ?? outOfScope(() => this.#lose(hold, reason));
  }

  #lose(hold: Hold, reason: 'expired' | 'gone' | 'shutdown'): LeaseLostError {
    const { isLive } = hold;
    const error = hold.lose(reason);
    hold.dropAll();
    this.#watchdog.remove(hold);
    this.#idle.check();
    const { name, kind, label, heldMs } = hold;
    // The end of one that was given up at a shutdown was told then.
    if (isLive) tell(this.#observer, { type: 'lost', name, kind, label, reason, heldMs });
    // The key may well be there still: others need not wait for the server's lease to end.
    if (reason !== 'gone') {
      const until = () => (reason === 'expired' ? this.#releaseUntil(hold) : -Infinity);
      const leaveAll = () => this.#ask(hold, until, () => leave(hold, 0));
      void this.#inBackground(() => hold.serially(leaveAll));
    }
    hold.successors?.ended(hold);
    return error;
  }

  /**
   * Tells Redis how many leases are left. Resolves when it is known that this came about. How many
   * that are is known only when the turn comes: a nested call may have entered meanwhile.
   */
  async #leave(hold: Hold): Promise<void> {
    if (hold.lostError !== undefined) throw hold.lostError;
    // Another lease that was given back at the same time has freed the lock.
    if (!hold.isLive) return;
    const holdCount = hold.leases.length;
    const isForGood = holdCount === 0;
    const succession = isForGood ? this.#beginEnd(hold) : undefined;
    let reply: Reply<ReleaseAnswer> | undefined;
    try {
      const sending = this.#sendLeave(hold, holdCount, succession?.heir);
      succession?.sent(sending);
      reply = await sending;
      succession?.settle(reply);
      this.#onLeft(hold, holdCount, reply);
    } catch (error) {
      // A key that holds something else by now is not this owner's lock any more.
      throw error instanceof LockStateError ? this.lose(hold, 'gone') : error;
    } finally {
      if (reply === undefined) succession?.fail();
      if (isForGood) this.#end(hold, outcomeOf(reply));
    }
  }

  /** Answers who is next, if that is known here, and has that one expect the outcome. */
  #beginEnd(hold: Hold): Succession | undefined {
    this.#watchdog.remove(hold);
    this.#leaving.add(hold);
    if (hold.keepMs <= 0) return hold.successors?.next(hold);
    hold.successors?.ended(hold);
    return undefined;
  }

  #end(hold: Hold, outcome: 'done' | 'unknown' | 'failed'): void {
    if (hold.isLive) {
      hold.end();
      const { name, kind, label, heldMs } = hold;
      tell(this.#observer, { type: 'released', name, kind, label, outcome, heldMs });
    }
    this.#leaving.delete(hold);
    this.#idle.check();
  }

  #sendLeave(hold: Hold, holdCount: number, heir?: Successor): Promise<Reply<ReleaseAnswer>> {
    const until = () => this.#releaseUntil(hold);
    return this.#ask(hold, until, () => leave(hold, holdCount, heir));
  }

  /** Nothing is done for a hold that is over; by the local clock it may be over unnoticed. */
  #refuseDead(hold: Hold): void {
    if (hold.isLive && hold.remainingMs === 0) this.lose(hold, 'expired');
    if (hold.lostError !== undefined) throw hold.lostError;
  }

  #onLeft(hold: Hold, holdCount: number, reply: Reply<ReleaseAnswer>): void {
    const { name, kind, label } = hold;
    if (reply.value === 'unannounced') {
      tell(this.#observer, { type: 'wake-up-failed', name, kind, label });
    }
    if (reply.value === 'absent' || reply.value === 'had') {
      // After a cut the first delivery may have freed the lock, and the second found it so.
      const mayBeOurs = reply.resent && holdCount === 0 && reply.sentAt < hold.validUntil;
      if (!mayBeOurs) throw this.lose(hold, 'gone');
    }
    if (holdCount === 0 && reply.value === 'opened') hold.successors?.opened(hold);
  }

  /** When Redis has certainly ended the hold by itself. */
  #releaseUntil(hold: Hold): number {
    return hold.protocol.outlastsLease === true && !this.#isClosed ? Infinity : hold.validUntil;
  }

  #ask<R>(hold: Hold, until: () => number, ask: () => Promise<Reply<R>>): Promise<Reply<R>> {
    return untilAnswered(this.connection, this.clock, until, ask, hold);
  }

  /** Also when somebody has to repair something first. */
  #insist<R>(end: number, ask: () => Promise<Reply<R>>): Promise<Reply<R>> {
    const until = () => (this.#isClosed ? -Infinity : end);
    return untilAnswered(this.connection, this.clock, until, ask, undefined, true);
  }

  #withPatience(hold: Hold, running: Promise<void>, what: string): Promise<void> {
    return new Deadline(this.clock, PATIENCE_MS, undefined).waitOr(
      (resolve: () => void, reject) => {
        running.then(resolve, (error: unknown) => {
          reject(withLockName(error, hold.name) as Error);
        });
        return NOTHING_TO_UNDO;
      },
      () => {
        void this.#inBackground(() => running);
        const { name: lockName, refusal: cause } = hold;
        const details = { lockName, outcome: 'unknown', cause } as const;
        throw notAnswered(`Lock ${quoteName(lockName)} was not ${what}`, PATIENCE_MS, details);
      },
    );
  }

  /** Never rejects, but says of whom it has failed. It may take minutes: no request is kept for it. */
  #inBackground(work: () => Promise<unknown>, of?: Subject, leased = false): Promise<void> {
    return outOfScope(async () => {
      const running = work().catch((error: unknown) => {
        if (of !== undefined) this.#tellFailed(of, leased, error);
      });
      this.#background.add(running);
      await running;
      this.#background.delete(running);
    });
  }

  #tellFailed({ name, kind, label }: Subject, leased: boolean, error: unknown): void {
    tell(this.#observer, { type: 'release-failed', name, kind, label, leased, error });
  }
}

/** What it has to stay taken for yet becomes less from one try to the next. */
function leave(hold: Hold, holdCount: number, heir?: Successor): Promise<Reply<ReleaseAnswer>> {
  const { protocol, key, owner, keepMs } = hold;
  return protocol.release(key, owner, holdCount, heir, holdCount === 0 ? keepMs : 0);
}
