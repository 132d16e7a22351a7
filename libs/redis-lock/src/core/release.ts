import { LeaseLostError, LockBackendError, LockStateError } from './api/errors.js';
import { tell } from './api/observer.js';
import type { HeldLease, LeaseKeeper } from './holding/held-lease.js';
import type { Hold } from './holding/hold.js';
import type { Holds } from './holding/holds.js';
import { Patience } from './holding/patience.js';
import type { ReleaseAnswer } from './holding/protocol.js';
import type { Reply } from './redis/connection.js';
import { retry } from './redis/retry.js';
import type { Session } from './session.js';
import type { Waiter } from './waiting/waiter.js';
import type { WaitQueues } from './waiting/wait-queues.js';

/** The one way out: lease, hold, successor, script, answer. */
export class Releases implements LeaseKeeper {
  constructor(
    private readonly session: Session,
    readonly holds: Holds,
    private readonly queues: WaitQueues,
  ) {}

  /** Releases one lease; the last one of its owner frees the lock, or hands it over. */
  release(lease: HeldLease): Promise<void> {
    return new Promise((resolve, reject) => {
      const { hold } = lease;
      const caller = new Patience(
        hold,
        'released',
        () => {
          lease.onReleased();
          resolve();
        },
        (error) => {
          this.failed(lease, error);
          reject(error);
        },
      ).begin();
      hold.drop(lease);
      try {
        this.holds.refuseDead(hold);
      } catch (error) {
        caller.fail(error);
        return;
      }
      const release = () => this.releaseHold(hold, caller);
      caller.expect(hold.isBusy ? hold.whenFree(release) : release());
    });
  }

  /**
   * Tells Redis how many leases are left, and the caller when that came about. How many are left is
   * known only now: a nested call may have joined meanwhile. Never rejects.
   */
  private async releaseHold(hold: Hold, caller: Patience): Promise<void> {
    if (!hold.isLive) {
      if (hold.lostError !== undefined) caller.fail(hold.lostError);
      // Another lease that was released at the same time has freed the lock.
      else caller.done();
      return;
    }
    const holdCount = hold.leases.length;
    const successor = holdCount === 0 ? this.beginEnd(hold) : undefined;
    const { protocol, session } = hold;
    // The time that the lock has to stay taken becomes shorter from one try to the next.
    const ask = () =>
      protocol.release(hold, holdCount, successor, holdCount === 0 ? hold.keepMs : 0);
    const askedAt = session.clock.now();
    hold.refusal = undefined;
    let reply: Reply<ReleaseAnswer> | undefined;
    try {
      hold.beginEnd();
      successor?.named();
      try {
        reply = await ask();
      } catch (error) {
        reply = await retry(session, error, askedAt, () => this.holds.endOf(hold), ask, hold);
      }
      this.end(hold, successor, reply);
      this.onAnswer(hold, holdCount, reply);
      if (holdCount === 0) this.holds.left(hold, outcomeOf(reply));
      caller.done();
    } catch (error) {
      if (reply === undefined) this.end(hold, successor, undefined);
      // A key that holds something else by now is not this owner's lock any more.
      const reason = error instanceof LockStateError ? this.holds.lose(hold, 'gone') : error;
      if (holdCount === 0) this.holds.left(hold, outcomeOf(reply));
      caller.fail(reason);
    }
  }

  /** Answers the waiter of this process that is next, if there is one. */
  private beginEnd(hold: Hold): Waiter | undefined {
    this.holds.leave(hold);
    if (hold.listener === undefined) return undefined;
    if (hold.keepMs <= 0) return this.queues.successor(hold);
    hold.listener.ended(hold);
    return undefined;
  }

  /** The answer is there, or none comes. */
  private end(
    hold: Hold,
    successor: Waiter | undefined,
    reply: Reply<ReleaseAnswer> | undefined,
  ): void {
    hold.endStep();
    if (successor !== undefined) this.queues.released(hold, successor, reply);
  }

  private onAnswer(hold: Hold, holdCount: number, reply: Reply<ReleaseAnswer>): void {
    const { value } = reply;
    if (value === 'unannounced') {
      const { name, kind, label } = hold;
      tell(this.session.settings.observer, { type: 'wake-up-failed', name, kind, label });
    }
    if (value === 'absent' || value === 'had') {
      // After a cut the first delivery may have freed the lock, and the second found it so.
      const mayBeOurs = reply.resent && holdCount === 0 && reply.sentAt < hold.validUntil;
      if (!mayBeOurs) throw this.holds.lose(hold, 'gone');
    }
    if (holdCount === 0 && value === 'opened') this.queues.opened(hold);
  }

  private failed(lease: HeldLease, error: Error): void {
    const { hold } = lease;
    if (error instanceof LeaseLostError) lease.onLost(error);
    if (error instanceof LockBackendError) {
      const { name, kind, label } = hold;
      const event = { type: 'release-failed', name, kind, label, leased: true, error } as const;
      tell(this.session.settings.observer, event);
      // A person may repair the cause before the lease ends.
      if (!hold.isLive && !error.retryable) void this.releaseLater(hold);
    }
    lease.onReleased();
  }

  private releaseLater(hold: Hold): Promise<void> {
    const { background } = this.session;
    const release = () => hold.protocol.release(hold, 0, undefined, hold.keepMs);
    const untilDone = () => background.untilDone(hold.validUntil, release);
    return background.run(() => hold.serially(untilDone), hold, true);
  }
}

/** The end of the last lease; without a reply it ends by itself. */
function outcomeOf(reply: Reply<ReleaseAnswer> | undefined): 'done' | 'unknown' | 'failed' {
  if (reply === undefined) return 'failed';
  return reply.value === 'absent' ? 'unknown' : 'done';
}
