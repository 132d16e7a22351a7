import { LeaseLostError, LockBackendError, LockStateError } from './api/errors.js';
import { tell } from './api/observer.js';
import type { HeldLease, LeaseKeeper } from './holding/held-lease.js';
import type { Holds, Leaving } from './holding/holds.js';
import { Patience } from './holding/patience.js';
import type { ReleaseAnswer } from './holding/protocol.js';
import type { Reply } from './redis/connection.js';
import { retry } from './redis/retry.js';
import type { Session } from './session.js';
import type { Waiter } from './waiting/waiter.js';
import type { WaitQueues } from './waiting/wait-queues.js';

/** The only way to release: lease, hold, successor, script, answer. */
export class Releases implements LeaseKeeper {
  constructor(
    readonly session: Session,
    readonly holds: Holds,
    readonly queues: WaitQueues,
  ) {}

  /** Releases one lease. The last one of its owner frees the lock, or hands it over. */
  release(lease: HeldLease): Promise<void> {
    return new Promise((resolve, reject) => {
      new Release(this, lease, resolve, reject).start();
    });
  }
}

/**
 * The release of one lease. Its caller waits for 2 s at most. The release is sent until Redis
 * answers.
 */
export class Release extends Patience implements Leaving {
  leavingIndex = -1;
  private holdCount = 0;
  /** The next waiter of this process, if there is one. */
  private successor: Waiter | undefined = undefined;
  askedAt = 0;
  private isOver = false;
  private onOver: (() => void) | undefined = undefined;

  constructor(
    private readonly releases: Releases,
    private readonly lease: HeldLease,
    resolve: () => void,
    reject: (error: Error) => void,
  ) {
    super(lease.hold, 'released', resolve, reject);
  }

  start(): void {
    const { hold, lease, releases } = this;
    const now = releases.session.clock.now();
    this.begin(now);
    hold.drop(lease);
    if (hold.isOver(now) && hold.isLive) releases.holds.lose(hold, 'expired');
    if (!hold.isBusy || !hold.isLive) this.send(now);
    else {
      void hold.whenFree(() => {
        this.send(releases.session.clock.now());
      });
    }
  }

  /** The leases are counted now: a nested call may have joined meanwhile. */
  private send(now: number): void {
    const { hold } = this;
    if (!hold.isLive) {
      // Without an error, another lease that was released at the same time has freed the lock.
      this.over(hold.lostError);
      return;
    }
    this.askedAt = now;
    this.holdCount = hold.leases.length;
    if (this.holdCount === 0) this.leave();
    hold.refusal = undefined;
    hold.beginApart();
    this.successor?.named();
    this.ask().then(
      (reply) => {
        this.onReply(reply);
      },
      (error: unknown) => {
        this.tryOn(error);
      },
    );
  }

  /** `keepMs` becomes shorter from one attempt to the next. */
  private ask(): Promise<Reply<ReleaseAnswer>> {
    const { hold, holdCount, successor } = this;
    return hold.protocol.release(hold, holdCount, successor, holdCount === 0 ? hold.keepMs : 0);
  }

  private leave(): void {
    const { hold, releases } = this;
    releases.holds.leave(this);
    if (hold.listener === undefined) return;
    if (hold.keepMs > 0) hold.listener.ended(hold);
    else this.successor = releases.queues.successor(hold);
  }

  private onReply(reply: Reply<ReleaseAnswer>): void {
    const { hold, holdCount, releases } = this;
    const { value } = reply;
    this.answered(reply);
    if (value === 'unannounced') {
      const { name, kind, label } = hold;
      tell(releases.session.settings.observer, { type: 'wake-up-failed', name, kind, label });
    }
    const isAbsent = value === 'absent' || value === 'had';
    // After a cut, the first delivery may have freed the lock before the second.
    const mayBeOurs = reply.resent && holdCount === 0 && reply.sentAt < hold.validUntil;
    const lost = isAbsent && !mayBeOurs ? releases.holds.lose(hold, 'gone') : undefined;
    if (holdCount === 0 && value === 'reserved') releases.queues.outsiders.seen(hold.key);
    if (holdCount === 0) releases.holds.left(this, value === 'absent' ? 'unknown' : 'done');
    this.over(lost);
  }

  private tryOn(first: unknown): void {
    const { hold, askedAt, releases } = this;
    const { session, holds } = releases;
    const until = () => holds.endOf(hold);
    retry(session, first, askedAt, until, () => this.ask(), hold).then(
      (reply) => {
        this.onReply(reply);
      },
      (error: unknown) => {
        this.answered(undefined);
        // The key has another type by now, so this owner's lock is gone.
        const reason = error instanceof LockStateError ? holds.lose(hold, 'gone') : error;
        if (this.holdCount === 0) holds.left(this, 'failed');
        this.over(reason);
      },
    );
  }

  /** Redis has answered, or will not answer. */
  private answered(reply: Reply<ReleaseAnswer> | undefined): void {
    const { hold, successor } = this;
    hold.answered();
    if (successor !== undefined) this.releases.queues.released(hold, successor, reply);
  }

  private over(error: unknown): void {
    if (error === undefined) this.done();
    else this.fail(error);
    this.isOver = true;
    this.onOver?.();
  }

  protected override rest(): Promise<void> {
    return new Promise((resolve) => {
      this.onOver = resolve;
      if (this.isOver) resolve();
    });
  }

  protected override succeed(): void {
    this.lease.isReleased = true;
    this.resolve();
  }

  protected override giveUp(error: Error): void {
    const { lease, hold } = this;
    if (error instanceof LeaseLostError) lease.onLost(error);
    if (error instanceof LockBackendError) {
      const { name, kind, label } = hold;
      const event = { type: 'release-failed', name, kind, label, leased: true, error } as const;
      tell(this.releases.session.settings.observer, event);
      // An operator may repair the cause before the lease ends.
      if (!hold.isLive && !error.retryable) void this.releaseLater();
    }
    lease.isReleased = true;
    super.giveUp(error);
  }

  private releaseLater(): Promise<void> {
    const { hold } = this;
    const { background } = this.releases.session;
    const release = () => hold.protocol.release(hold, 0, undefined, hold.keepMs);
    const untilDone = () => background.untilDone(hold.validUntil, release);
    return background.run(() => hold.serially(untilDone), hold, true);
  }
}
