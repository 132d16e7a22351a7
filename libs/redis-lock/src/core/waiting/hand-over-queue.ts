import type { Hold } from '../holding/hold.js';
import type {
  AcquireAnswer,
  Claim,
  OutsiderWindow,
  OwnerId,
  ReleaseAnswer,
} from '../holding/protocol.js';
import type { Reply } from '../redis/connection.js';
import { Claims } from './claims.js';
import { STAND_BACK_MS } from './outsiders.js';
import { WaitQueue } from './wait-queue.js';
import type { Waiter } from './waiter.js';

/** A queue that receives the lock from a local holder, or from another process. */
export class HandOverQueue extends WaitQueue {
  private madeClaims: Claims | undefined = undefined;
  private isGivingBack = false;
  /** The window of outsiders for which this process stands back, or has stood back. */
  private window: OutsiderWindow | undefined = undefined;
  /** The number of their sections that have ended, by the messages. */
  private ended = 0;
  /** It has stood back for the whole window. */
  private isPast = false;

  /** The holder releases. In the same step, the first waiter acquires or its process queues. */
  successor(hold: Hold): Waiter | undefined {
    const next = this.waiters.firstToWait;
    if (next === undefined) return undefined;
    // If each waiter has its own entry, no process claims for it.
    const isBatchOver = this.hasOwnGrants && this.claims.isBatchOver(hold, next);
    next.claim = isBatchOver ? this.claims.claimFor(next, this.wakeUps.hearsGrants) : undefined;
    this.attempts.expect(next);
    return next;
  }

  /**
   * Redis answered the release that named the successor. Without an answer its outcome is unknown.
   */
  onReleased(hold: Hold, next: Waiter, reply: Reply<ReleaseAnswer> | undefined): void {
    next.asker.answered?.();
    this.attempts.end(next);
    if (reply === undefined) {
      this.goOn(true);
      return;
    }
    const { value, sentAt, resent } = reply;
    // The script was sent twice, and the first delivery handed the lock over.
    if (value === 'passed' || (value === 'had' && resent)) {
      const isNewBatch = next.claim !== undefined;
      next.batchCount = isNewBatch ? 1 : hold.batchCount + 1;
      next.batchSince = isNewBatch ? Math.floor(sentAt) : hold.batchSince;
      if (value === 'passed' && next.mode === 'start') this.grant(next, sentAt, undefined);
      else this.letEnter(next);
    } else if (value === 'reserved' || value === 'done') {
      this.busy(this.room.session.settings.claimTimeMs);
      // Its own attempt shows the window.
      if (value === 'reserved' && this.madeWakeUps?.hearsGrants === true) this.ask();
    } else {
      // The successor's own script shows whether the lock is free, or who holds it.
      this.goOn(true);
    }
  }

  override onReply(waiter: Waiter, attempt: number, reply: Reply<AcquireAnswer>): void {
    super.onReply(waiter, attempt, reply);
    const { value } = reply;
    if (value.kind !== 'busy' || this.waiters.size === 0) return;
    this.standBack(value.window);
  }

  private standBack(window: OutsiderWindow | undefined): void {
    if (window?.untilMs !== this.window?.untilMs) this.ended = 0;
    this.window = window;
    this.isPast = this.ended >= (window?.sections ?? 0);
    if (!this.isPast) this.wakeUps.pollIn(STAND_BACK_MS);
  }

  /** While it stands back, each message ends a section of an outsider. */
  override hint(messages = 1): void {
    this.ended += messages;
    if (this.isPast || this.window === undefined) {
      super.hint();
      return;
    }
    this.isPast = this.ended >= this.window.sections;
    if (this.isPast) this.ask();
    else this.wakeUps.pollIn(STAND_BACK_MS);
  }

  /** No outsider has released the lock for a moment: it may be free, or held for longer. */
  override onPoll(): void {
    this.isPast = true;
    super.onPoll();
  }

  override pushed(payload: string): void {
    const push = this.claims.read(payload);
    if (push === undefined) return;
    const { owner, waiter, sentAt } = push;
    if (waiter !== undefined && sentAt !== undefined) this.grant(waiter, sentAt, undefined);
    else if (waiter !== undefined || this.waiters.firstToWait?.owner === owner) this.ask();
    else if (!this.isOurs(owner)) void this.giveBack(owner);
  }

  /**
   * A claim only while another process holds the lock, and only if a message or a poll finds the
   * grant. One that is queued attempts through the queue: its entry would outlast any other grant.
   */
  protected override claimOf(waiter: Waiter): Claim | undefined {
    if (waiter.once || this.liveHolder !== undefined || this.use.grantedTo !== undefined) {
      return undefined;
    }
    const isHearing = this.madeWakeUps?.hearsGrants === true;
    const isPolling = this.madeWakeUps?.isDeaf === true;
    const isQueued = this.madeClaims?.isOf(waiter) === true;
    const isPolled = isPolling || this.room.session.settings.wakeUp === 'poll';
    if (!isHearing && !isPolled && !isQueued) return undefined;
    const past = this.isPast ? this.window?.untilMs : 0;
    return this.claims.claimFor(waiter, isHearing, past, this.ended);
  }

  protected override forget(waiter: Waiter): boolean {
    return this.madeClaims?.leave(waiter) === true;
  }

  /**
   * Beside outsiders, its attempt must queue. Redis queues it once it receives grants: the
   * confirmation of the subscription sends the attempt.
   */
  protected override begin(waiter: Waiter): void {
    const { outsiders } = this.room;
    const isFree = this.attempts.waiter === undefined && this.liveHolder === undefined;
    const isBeside = outsiders.has(this.key) && !outsiders.areFirst(this.id);
    if (waiter.once || !isFree || !isBeside) {
      super.begin(waiter);
      return;
    }
    this.wakeUps.listen();
    this.wakeUps.pollIn();
  }

  /** The successor holds it with a count of 0, and runs `acquire` by itself. */
  private letEnter(next: Waiter): void {
    if (!next.isQueued && !next.hasLock) void next.tooLate();
    this.attempts.setBusy(next.leaseTimeMs);
    this.refuseOnce(Infinity);
    this.goOn(true);
  }

  /** This owner holds the lock, was granted it, requests it, or its release is not over. */
  private isOurs(owner: OwnerId): boolean {
    const isHeld = owner === this.holder?.owner || owner === this.use.grantedTo;
    return isHeld || this.room.isEnding(owner) || owner === this.attempts.waiter?.asker.owner;
  }

  /** One at a time: a repeated message must not send a script each time. */
  private async giveBack(owner: OwnerId): Promise<void> {
    if (this.isGivingBack || !this.hasOwnGrants) return;
    this.isGivingBack = true;
    await this.waiters.first?.asker.cancelStray?.(owner);
    this.isGivingBack = false;
  }

  private get claims(): Claims {
    return (this.madeClaims ??= new Claims(this.room.session));
  }

  /** Grants have their own channel, for all owners of this process. */
  private get hasOwnGrants(): boolean {
    const { grants, wakeUp } = this.channels;
    return grants !== undefined && grants !== wakeUp;
  }
}
