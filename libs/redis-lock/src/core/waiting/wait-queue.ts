import { LockBackendError, LockShutdownError } from '../api/errors.js';
import type { Asker, Channels } from '../holding/asker.js';
import type { Hold } from '../holding/hold.js';
import type { AcquireAnswer, Claim, OwnerId } from '../holding/protocol.js';
import { ANSWER_MS, type Reply } from '../redis/connection.js';
import type { KeyUse } from './keys-in-use.js';
import { isUnset, NONE, type Busy, type Known } from './known.js';
import { WakeUps, type WakeUpListener } from './wake-ups.js';
import type { WaitQueues } from './wait-queues.js';
import type { Waiter } from './waiter.js';
import { WaiterList } from './waiter-list.js';

/**
 * The waiters of one key in this process: first come, first served. Redis knows only the first.
 * - `asking`: a script for the waiter `asking` is on its way.
 * - `parked`: another owner holds the lock. A message, a poll or the release of a local holder ends
 *   that.
 * - `idle`: there are no waiters.
 */
export class WaitQueue implements WakeUpListener {
  readonly waiters = new WaiterList();
  /** It is the queue of its id. */
  isOpen = true;
  /** The waiter may have left meanwhile. */
  asking: Waiter | undefined = undefined;
  private askedAt = 0;
  private askAgain = false;
  private attempts = 0;
  /**
   * The connection's `sendCount` at the last attempt. While it stays the same, the attempt is not
   * sent yet. Then it also serves a caller that comes now.
   */
  private sendCountAtAsk: number | undefined = undefined;
  /**
   * In Redis' queue an owner of this process is ahead, and hands the lock over to the first waiter.
   */
  private isBehindOwn = false;
  protected last: Known = NONE;
  private madeChannels: Channels | undefined = undefined;
  protected madeWakeUps: WakeUps | undefined = undefined;

  readonly key: string;
  readonly id: string;
  readonly isLed: boolean;

  constructor(
    readonly queues: WaitQueues,
    { key, queueId, isLed }: Asker,
    readonly use: KeyUse,
  ) {
    this.key = key;
    this.id = queueId;
    this.isLed = isLed === true;
  }

  get state(): 'idle' | 'asking' | 'parked' {
    if (this.asking !== undefined) return 'asking';
    return this.waiters.size === 0 ? 'idle' : 'parked';
  }

  /** The last answer. `NONE` once a newer attempt has no answer for `ANSWER_MS`. */
  get known(): Known {
    const isOwed =
      this.asking !== undefined && this.queues.session.clock.now() - this.askedAt > ANSWER_MS;
    return isOwed ? NONE : this.last;
  }

  add(waiter: Waiter): void {
    const { waiters } = this;
    const isFirst = waiters.size === 0;
    waiter.queue = this;
    if (waiter.once && waiters.waiting > 0) {
      const { known } = this;
      // After a grant that keeps no other owner out, the next waiter sends its attempt at once.
      const isAnswered = !this.queues.isShared || this.asking === undefined;
      if (known.kind === 'busy' && isAnswered && !this.isSetBy(waiter)) {
        // A waiter is ahead. It acquires the lock if that is free by now.
        waiter.refuse(known);
        return;
      }
    }
    const { sendCount } = this.queues.session.connection;
    const isUnsent = sendCount !== undefined && this.sendCountAtAsk === sendCount;
    waiter.since = isUnsent ? this.attempts : this.attempts + 1;
    waiters.add(waiter);
    if (isFirst) this.begin(waiter);
    else if (this.isSetBy(waiter)) this.ask();
  }

  /** The waiter has left, or has its grant. */
  leave(waiter: Waiter): void {
    const isAsking = this.asking === waiter;
    if (!this.waiters.drop(waiter)) return;
    const hasClaim = this.forget?.(waiter) === true;
    if (this.waiters.size === 0) this.rest();
    else if (isAsking) this.wakeUps.pollIn();
    // The next waiter keeps the entry of the process.
    if (hasClaim) this.ask();
  }

  /**
   * Sends the attempt of the first waiter, unless a script is already on its way. If the permits
   * are not set, a waiter that sets them goes first.
   */
  ask(): void {
    const next = this.setter ?? this.waiters.first;
    if (next === undefined) return;
    if (this.asking !== undefined) {
      this.askAgain = true;
      return;
    }
    this.expectAnswer(next);
    this.sendCountAtAsk = this.queues.session.connection.sendCount;
    next.ask(this.claimOf?.(next), ++this.attempts);
  }

  /** As `add`, for a waiter that has sent its attempt alone. */
  adopt(waiter: Waiter): void {
    waiter.queue = this;
    this.waiters.add(waiter);
    this.asking = waiter;
    this.askedAt = waiter.startedAt;
    this.attempts = waiter.since;
    this.sendCountAtAsk = waiter.sendCountAtAsk;
  }

  onReply(waiter: Waiter, attempt: number, { value, sentAt }: Reply<AcquireAnswer>): void {
    const isOverridden = this.asking !== waiter;
    this.answered(waiter);
    if (value.kind === 'granted') {
      if (value.isForAll === true) this.grantAll(attempt, sentAt);
      else this.grant(waiter, sentAt, value.fencingToken);
      return;
    }
    // A newer attempt is on its way. Its answer counts.
    if (isOverridden) return;
    this.isBehindOwn = value.kind === 'busy' && value.isBehindOwn === true;
    if (value.kind === 'busy') this.queues.heard(this, value, this.last);
    if (value.kind === 'busy') this.busy(value.remainingMs, value.isUnset && 'unset');
    else this.busy(0);
  }

  onError(waiter: Waiter, error: unknown): void {
    this.answered(waiter);
    const isPassing = error instanceof LockBackendError && error.retryable;
    if (isPassing) this.last = { kind: 'failed', error };
    if (!waiter.isQueued) {
      // Redis may have granted this attempt, or an earlier one.
      if (waiter.isUncertain && !waiter.hasLock) void waiter.tooLate();
      this.goOn();
    } else if (isPassing) {
      this.goOn();
    } else {
      this.waiters.drop(waiter);
      waiter.fail(error as Error);
      this.goOn(true);
    }
  }

  /** The answer concerns all waiters. */
  busy(remainingMs: number, blockedBy?: Busy['blockedBy']): void {
    // Otherwise a newer answer is on its way.
    if (this.asking === undefined) this.last = this.busyFor(remainingMs, blockedBy);
    this.goOn(this.answerOnce(this.attempts) || this.setter !== undefined);
  }

  goOn(askAgain = this.askAgain): void {
    if (this.waiters.size === 0) this.rest();
    else if (askAgain || this.askAgain) this.ask();
    else this.park();
  }

  close(): void {
    // From the last to the first: no waiter sends an attempt in the place of one that leaves.
    const waiters = this.waiters.since(Infinity).reverse();
    for (const waiter of waiters) waiter.fail(new LockShutdownError(waiter.name));
  }

  hint(): void {
    if (!this.queues.standsBack(this.id)) this.ask();
  }

  onPoll(): void {
    const isAsking = this.asking !== undefined && this.asking === this.waiters.first;
    if (isAsking || this.queues.standsBack(this.id)) {
      this.wakeUps.pollIn();
    } else {
      // An attempt whose waiter has left must not delay the others.
      this.asking = undefined;
      this.ask();
    }
  }

  /** Releases the grant of another owner of this process, which has left. */
  cancelStray(owner: OwnerId): Promise<void> | undefined {
    return this.waiters.first?.asker.cancelStray?.(owner);
  }

  /** If the lock is handed over: the claim that goes out with a waiter's attempt. */
  protected claimOf?(waiter: Waiter): Claim | undefined;
  /**
   * If the lock is handed over: a waiter has left. Returns whether the newest claim was its claim.
   */
  protected forget?(waiter: Waiter): boolean;
  /** If the lock is handed over: a message of the grant. */
  pushed?(payload: string): void;

  protected begin(waiter: Waiter): void {
    const holder = waiter.once ? undefined : this.liveHolder;
    if (holder !== undefined) this.last = this.busyFor(holder.remainingMs);
    // The waiter of the running attempt has left, and its answer may never come.
    if (this.asking !== undefined) this.wakeUps.pollIn();
    else if (!waiter.once && this.queues.standsBack(this.id)) this.wakeUps.pollIn();
    // A local owner holds it in a batch. Its release names this waiter, which needs no attempt.
    else if (holder !== undefined && holder.batchCount > 0) this.park();
    else this.ask();
  }

  protected grant(waiter: Waiter, sentAt: number, fencingToken: number | undefined): void {
    this.answered(waiter);
    if (this.waiters.drop(waiter)) {
      const { owner } = waiter.asker;
      this.forget?.(waiter);
      // The owner uses the key from now on, before its call goes on.
      if (owner !== undefined) waiter.use = this.use.begin();
      waiter.grant(sentAt, fencingToken);
      if (this.waiters.size > 0 || this.asking !== undefined) this.goOnBehind(waiter);
    } else if (!waiter.hasLock) {
      void waiter.tooLate().then(() => {
        this.ask();
      });
    }
    this.goOn();
  }

  /** The others wait for another holder from now on. */
  private goOnBehind(granted: Waiter): void {
    const { isShared } = this.queues;
    this.madeWakeUps?.restart();
    this.last = this.busyFor(isShared ? 0 : granted.leaseTimeMs);
    this.use.granted = granted.asker.owner;
    if (!isShared) this.answerOnce(Infinity);
    // The release of a local holder ends the wait: no script is needed before.
    this.askAgain = isShared;
  }

  /**
   * The answer may be older than a waiter that came after the attempt. Such a waiter needs a new
   * attempt.
   */
  private grantAll(attempt: number, sentAt: number): void {
    this.last = NONE;
    for (const waiter of this.waiters.since(attempt)) {
      this.waiters.drop(waiter);
      waiter.grant(sentAt, undefined);
    }
    this.goOn(true);
  }

  /**
   * Refuses the single attempts, which have their answer. The first waiter may have come after
   * attempt `newest`, which Redis answered. Then it needs its own attempt, and this returns `true`.
   * The single attempts behind it have a waiter ahead, which acquires the lock if it is free.
   */
  protected answerOnce(newest: number): boolean {
    const { last } = this;
    if (last.kind !== 'busy') return false;
    let isTooLate = false;
    for (const waiter of this.waiters.once()) {
      if ((waiter === this.waiters.first && waiter.since > newest) || this.isSetBy(waiter)) {
        isTooLate = true;
        continue;
      }
      this.waiters.drop(waiter);
      waiter.refuse(last);
    }
    return isTooLate;
  }

  protected expectAnswer(waiter: Waiter): void {
    this.asking = waiter;
    this.askedAt = this.queues.session.clock.now();
    this.askAgain = false;
  }

  protected answered(waiter: Waiter): void {
    if (this.asking === waiter) this.asking = undefined;
  }

  private park(): void {
    if (this.asking !== undefined) return;
    const { last, wakeUps } = this;
    if (last.kind === 'busy' && this.queues.session.settings.wakeUp === 'message') {
      // The holder was granted it at this moment, or its lease is not over.
      const isOurs = this.use.granted !== undefined || this.liveHolder !== undefined;
      if (isOurs || this.isBehindOwn) wakeUps.expect();
      else wakeUps.listen();
    }
    if (last.kind !== 'busy' || this.queues.polls(this)) wakeUps.pollAfter(last);
  }

  private rest(): void {
    this.madeWakeUps?.stop();
    this.madeWakeUps = undefined;
    if (this.asking === undefined) this.queues.onIdle(this);
  }

  /** Its lease is not over, by the local clock. */
  protected get liveHolder(): Hold | undefined {
    const holder = this.queues.holderOf(this.use);
    return holder !== undefined && holder.remainingMs > 0 ? holder : undefined;
  }

  protected get wakeUps(): WakeUps {
    return (this.madeWakeUps ??= new WakeUps(this.queues.session, this));
  }

  get channels(): Channels {
    const { first } = this.waiters;
    if (first !== undefined) this.madeChannels ??= first.asker.channels();
    return this.madeChannels ?? NO_CHANNELS;
  }

  protected busyFor(remainingMs: number, blockedBy: Busy['blockedBy'] = 'other'): Known {
    return { kind: 'busy', until: this.queues.session.clock.now() + remainingMs, blockedBy };
  }

  /** The permits are not set, and the attempt of this waiter sets them. */
  private isSetBy({ asker }: Waiter): boolean {
    return isUnset(this.last) && asker.capacity !== undefined;
  }

  private get setter(): Waiter | undefined {
    return isUnset(this.last) ? this.waiters.firstToSet : undefined;
  }
}

const NO_CHANNELS: Channels = { wakeUp: '' };
