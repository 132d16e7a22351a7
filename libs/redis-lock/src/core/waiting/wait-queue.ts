import { LockBackendError, LockShutdownError } from '../api/errors.js';
import type { Asker, Channels } from '../holding/asker.js';
import type { Hold, HoldListener } from '../holding/hold.js';
import type { KeyUse } from '../holding/keys-in-use.js';
import type { AcquireAnswer, Claim, OwnerId } from '../holding/protocol.js';
import type { Reply } from '../redis/connection.js';
import type { Session } from '../session.js';
import { Attempts } from './attempts.js';
import type { Crowd } from './crowd.js';
import { isSetBy, isUnset, NONE, type Busy, type Known } from './known.js';
import type { Outsiders } from './outsiders.js';
import { WakeUps, type WakeUpListener } from './wake-ups.js';
import type { Queue, Waiter } from './waiter.js';
import { WaiterList } from './waiter-list.js';

/** The queues of one kind, as each of them calls them. It listens to the holds of that kind. */
export interface Room extends HoldListener {
  readonly session: Session;
  /** A grant does not keep others out. */
  readonly isShared: boolean;
  readonly outsiders: Outsiders;
  /**
   * This owner is being released, or was released and still holds the key in Redis (`minHoldMs`).
   * Its release may go again, behind a script that is sent now.
   */
  isEnding(owner: OwnerId): boolean;
  /** The queue has no waiters, and no attempt is on its way. */
  onIdle(queue: WaitQueue): void;
}

/**
 * The waiters of one key in this process: first come, first served. Redis knows only the first.
 * A script for one of them is on its way, or all are parked: another owner holds the lock. A
 * message, a poll or the release of a local holder ends that.
 */
export class WaitQueue implements Queue, WakeUpListener {
  readonly waiters = new WaiterList();
  /** It is the queue of its id. */
  private isOpen = true;
  protected readonly attempts: Attempts;
  /**
   * In Redis' queue an owner of this process is ahead, and hands the lock over to the first waiter.
   */
  private isBehindOwn = false;
  private madeChannels: Channels | undefined = undefined;
  protected madeWakeUps: WakeUps | undefined = undefined;

  readonly key: string;
  readonly id: string;
  private readonly isLed: boolean;

  constructor(
    protected readonly room: Room,
    { key, queueId, isLed }: Asker,
    protected readonly use: KeyUse,
    /** The queues of all owners of the key, if each owner has a queue. */
    readonly crowd?: Crowd<WaitQueue>,
  ) {
    this.attempts = new Attempts(room.session);
    this.key = key;
    this.id = queueId;
    this.isLed = isLed === true;
  }

  /** The queue that sends attempts for all owners of the key, or for its own waiters. */
  private get leader(): WaitQueue {
    return (this.isLed ? this.crowd?.first : undefined) ?? this;
  }

  get known(): Known {
    return this.leader.attempts.known;
  }

  isAsking(waiter: Waiter): boolean {
    return this.attempts.waiter === waiter;
  }

  add(waiter: Waiter): void {
    const { attempts, crowd, waiters } = this;
    const isFirst = waiters.size === 0;
    waiter.queue = this;
    if (waiter.once && waiters.waiting > 0) {
      const { known } = attempts;
      // After a grant that keeps no other owner out, the next waiter sends its attempt at once.
      const isAnswered = !this.room.isShared || attempts.waiter === undefined;
      if (known.kind === 'busy' && isAnswered && !isSetBy(attempts.last, waiter.asker)) {
        // A waiter is ahead. It acquires the lock if that is free by now.
        waiter.refuse(known);
        return;
      }
    }
    waiter.since = attempts.next;
    waiters.add(waiter);
    // Before its attempt: the answer looks for it there.
    if (!waiter.once) crowd?.join(this);
    if (isFirst) this.begin(waiter);
    else if (isSetBy(attempts.last, waiter.asker)) this.ask();
  }

  leave(waiter: Waiter): void {
    const { crowd } = this;
    if (crowd === undefined || waiter.once) {
      this.drop(waiter);
      return;
    }
    const { known, leader } = this;
    crowd.leave(this);
    this.drop(waiter);
    if (this.isLed && leader === this) crowd.lead(known, this.room.session.clock.now());
  }

  private drop(waiter: Waiter): void {
    const isAsking = this.isAsking(waiter);
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
    const { attempts } = this;
    const next = this.setter ?? this.waiters.first;
    if (next === undefined) return;
    if (attempts.waiter !== undefined) {
      attempts.mustRepeat = true;
      // Its waiter has left, and its answer may never come.
      if (!attempts.waiter.isQueued && !this.wakeUps.isSet) this.wakeUps.pollIn();
      return;
    }
    const attempt = attempts.begin(next);
    next.ask(this.claimOf?.(next), attempt);
  }

  /** As `add`, for a waiter that has sent its first attempt alone. */
  adopt(waiter: Waiter): void {
    waiter.queue = this;
    this.waiters.add(waiter);
    this.attempts.adopt(waiter);
    if (!waiter.once) this.crowd?.join(this);
  }

  onReply(waiter: Waiter, attempt: number, { value, sentAt }: Reply<AcquireAnswer>): void {
    const isOverridden = !this.isAsking(waiter);
    this.attempts.end(waiter);
    if (value.kind === 'granted') {
      if (value.isForAll === true) this.grantAll(attempt, sentAt);
      else this.grant(waiter, sentAt, value.fencingToken);
      return;
    }
    // A newer attempt is on its way. Its answer counts.
    if (isOverridden) return;
    this.isBehindOwn = value.kind === 'busy' && value.isBehindOwn === true;
    if (value.kind === 'busy') this.refused(value);
    else this.busy(0);
  }

  private refused(answer: AcquireAnswer & { kind: 'busy' }): void {
    const { attempts, crowd, waiters } = this;
    if (answer.window !== undefined) this.room.outsiders.seen(this.key);
    if (this.isLed && crowd?.first === this) {
      const strays = crowd.heard(answer, attempts.last);
      if (strays.length > 0) void waiters.first?.asker.cancelStrays?.(strays);
    }
    this.busy(answer.remainingMs, answer.isUnset && 'unset');
  }

  onError(waiter: Waiter, error: unknown): void {
    this.attempts.end(waiter);
    const isPassing = error instanceof LockBackendError && error.retryable;
    if (isPassing) this.attempts.last = { kind: 'failed', error };
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
    const { attempts } = this;
    // Otherwise a newer answer is on its way.
    if (attempts.waiter === undefined) attempts.setBusy(remainingMs, blockedBy);
    this.goOn(this.refuseOnce(attempts.count) || this.setter !== undefined);
  }

  goOn(mustAsk = false): void {
    if (this.waiters.size === 0) this.rest();
    else if (mustAsk || this.attempts.mustRepeat) this.ask();
    else this.park();
  }

  close(): void {
    // From the last to the first: no waiter sends an attempt in the place of one that leaves.
    const waiters = this.waiters.since(Infinity).reverse();
    for (const waiter of waiters) waiter.fail(new LockShutdownError(waiter.name));
  }

  hint(): void {
    if (!this.room.outsiders.areFirst(this.id)) this.ask();
  }

  onPoll(): void {
    const { first } = this.waiters;
    const isAsking = first !== undefined && this.isAsking(first);
    if (isAsking || this.room.outsiders.areFirst(this.id)) {
      this.wakeUps.pollIn();
    } else {
      // An attempt whose waiter has left must not delay the others.
      this.attempts.giveUp();
      this.ask();
    }
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
    if (holder !== undefined) this.attempts.setBusy(holder.remainingMs);
    // The waiter of the running attempt has left, and its answer may never come.
    if (this.attempts.waiter !== undefined) this.wakeUps.pollIn();
    else if (!waiter.once && this.room.outsiders.areFirst(this.id)) this.wakeUps.pollIn();
    // A local owner holds it in a batch. Its release names this waiter, which needs no attempt.
    else if (holder !== undefined && holder.batchCount > 0) this.park();
    else this.ask();
  }

  protected grant(waiter: Waiter, sentAt: number, fencingToken: number | undefined): void {
    const { attempts, waiters } = this;
    attempts.end(waiter);
    if (waiters.drop(waiter)) {
      const { owner } = waiter.asker;
      this.forget?.(waiter);
      // The owner uses the key from now on, before its call goes on.
      if (owner !== undefined) waiter.use = this.use.begin();
      waiter.grant(sentAt, fencingToken);
      if (waiters.size > 0 || attempts.waiter !== undefined) this.goOnBehind(waiter);
    } else if (!waiter.hasLock) {
      void waiter.tooLate().then(() => {
        this.ask();
      });
    }
    this.goOn();
  }

  /** The others wait for another holder from now on. */
  private goOnBehind(granted: Waiter): void {
    const { isShared } = this.room;
    this.madeWakeUps?.restart();
    this.attempts.setBusy(isShared ? 0 : granted.leaseTimeMs);
    this.use.grantedTo = granted.asker.owner;
    if (!isShared) this.refuseOnce(Infinity);
    // The release of a local holder ends the wait: no script is needed before.
    this.attempts.mustRepeat = isShared;
  }

  /**
   * The answer may be older than a waiter that came after the attempt. Such a waiter needs a new
   * attempt.
   */
  private grantAll(attempt: number, sentAt: number): void {
    this.attempts.last = NONE;
    for (const waiter of this.waiters.since(attempt)) {
      this.waiters.drop(waiter);
      waiter.grant(sentAt, undefined);
    }
    this.goOn(true);
  }

  protected refuseOnce(newest: number): boolean {
    const { last } = this.attempts;
    return last.kind === 'busy' && this.waiters.refuseOnce(last, newest);
  }

  private park(): void {
    const { last, waiter } = this.attempts;
    if (waiter !== undefined) return;
    const { wakeUps } = this;
    // The holder was granted it at this moment, or its lease is not over.
    const isOurs = this.use.grantedTo !== undefined || this.liveHolder !== undefined;
    if (last.kind === 'busy' && this.room.session.settings.wakeUp === 'message') {
      if (isOurs || this.isBehindOwn) wakeUps.expect();
      else wakeUps.listen();
    }
    if (last.kind !== 'busy' || this.leader === this) wakeUps.pollAfter(last, isOurs);
  }

  private rest(): void {
    this.madeWakeUps?.stop();
    this.madeWakeUps = undefined;
    if (this.attempts.waiter !== undefined || !this.isOpen) return;
    this.isOpen = false;
    this.use.end();
    this.room.onIdle(this);
  }

  /** The hold of this process, if it hands over to this queue. */
  protected get holder(): Hold | undefined {
    const { holder } = this.use;
    // Another kind of lock may have the same name. In Redis' queue each owner has its own place.
    return holder?.listener === this.room && holder.queueId === this.key ? holder : undefined;
  }

  /** Its lease is not over, by the local clock. */
  protected get liveHolder(): Hold | undefined {
    const { holder } = this;
    return holder !== undefined && holder.remainingMs > 0 ? holder : undefined;
  }

  protected get wakeUps(): WakeUps {
    return (this.madeWakeUps ??= new WakeUps(this.room.session, this));
  }

  get channels(): Channels {
    const { first } = this.waiters;
    if (first !== undefined) this.madeChannels ??= first.asker.channels();
    return this.madeChannels ?? NO_CHANNELS;
  }

  private get setter(): Waiter | undefined {
    return isUnset(this.attempts.last) ? this.waiters.firstToSet : undefined;
  }
}

const NO_CHANNELS: Channels = { wakeUp: '' };
