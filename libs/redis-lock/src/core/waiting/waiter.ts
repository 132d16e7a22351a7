import { AsyncResource } from 'node:async_hooks';

import { LockBackendError } from '../api/errors.js';
import { tell, type LockSubject } from '../api/observer.js';
import type { Asker } from '../holding/asker.js';
import type { KeyUse } from '../holding/keys-in-use.js';
import type { AcquireAnswer, Claim, OwnerId, Successor } from '../holding/protocol.js';
import { ANSWER_MS, type Reply } from '../redis/connection.js';
import { asUnknown } from '../redis/retry.js';
import type { Session } from '../session.js';
import { listenBefore, reasonOf, unlistenTo, type AbortListener } from '../time/abort.js';
import { outOfScope } from '../time/clock.js';
import type { Group, Timed } from '../time/timer-heap.js';
import { noAnswerError, NONE, reasonFor, type Busy, type Known, type Refusal } from './known.js';

/** After this time the observer receives a `waiting` event. */
const SLOW_WAIT_MS = 1_000;

/** The least time for the first answer of Redis, and how often a call looks for it at its end. */
const FIRST_ANSWER_MS = 250;
const LOOK_AGAIN_MS = 10;

/** Redis has granted what the waiter wants. */
export const GRANTED = Symbol('granted');

export type Outcome = typeof GRANTED | Refusal;

/** The queues that a waiter enters. */
export interface WaitingRoom {
  /**
   * Checks that the caller may wait. Returns the use of its key, if there is one.
   * @param isLetIn the limits do not concern it
   * @throws {LockShutdownError} the application is closing
   * @throws {LockLimitError} there is no room for another waiter, or for another key
   */
  admit(waiter: Waiter, isLetIn: boolean): KeyUse | undefined;
  /** @param use the use of its key */
  add(waiter: Waiter, use: KeyUse | undefined): void;
}

/** The queue of a waiter. The room stands in for it while the waiter has none. */
export interface Queue {
  /** The last answer for the waiters of the queue. */
  readonly known: Known;
  /** The waiter's attempt is on its way. */
  isAsking(waiter: Waiter): boolean;
  /** The answer to its attempt. */
  onReply(waiter: Waiter, attempt: number, reply: Reply<AcquireAnswer>): void;
  onError(waiter: Waiter, error: unknown): void;
  /** The waiter has left, or has its grant. */
  leave(waiter: Waiter): void;
}

/** One call that may have to wait, from its start until it is granted, refused or aborted. */
export class Waiter implements Timed, AbortListener, Successor {
  heapIndex = -1;
  group: Group | undefined = undefined;
  /** Links of the queue's list. */
  next: Waiter | undefined = undefined;
  previous: Waiter | undefined = undefined;
  isQueued = false;
  queue: Queue | undefined = undefined;
  /** The use of its key: while it sends its attempts alone, and from the grant on. */
  use: KeyUse | undefined = undefined;
  /** The number of the first attempt that its queue sent during its call. */
  since = 0;
  /** The connection's `sendCount` when it sent its attempt alone. */
  sendCountAtAsk: number | undefined = undefined;
  /** The claim of its process, if a release names it while others go first. */
  claim: Claim | undefined = undefined;
  hasLock = false;
  /** A failed attempt may have been executed. */
  isUncertain = false;

  // The grant, once `hasLock`.
  sentAt = 0;
  fencingToken: number | undefined = undefined;
  /** The lease of the grant; 0 if it is the requested lease. */
  grantMs = 0;
  batchCount = 0;
  batchSince = 0;

  /** An attempt may have left an entry in Redis. */
  private mayBeRemembered = false;
  /** The release of another owner may have made it the owner, apart from its own attempts. */
  private wasNamed = false;
  private isOver = false;
  private isCancelled = false;
  private resolve: (outcome: Outcome) => void = NOTHING;
  private reject: (error: Error) => void = NOTHING;
  /** The async context of the call, for its `waiting` event. Undefined once there will be none. */
  private scope: AsyncResource | undefined = undefined;

  /** A single attempt: one answer of Redis ends it. */
  readonly once: boolean;
  private readonly limitMs: number;

  /** @param waitTimeMs 0 waits for one answer, and not for the lock */
  constructor(
    readonly session: Session,
    readonly asker: Asker,
    private readonly subject: LockSubject,
    waitTimeMs: number,
    private readonly signal: AbortSignal | undefined,
    readonly startedAt: number,
  ) {
    this.once = waitTimeMs === 0;
    this.limitMs = this.once ? ANSWER_MS : waitTimeMs;
    if (session.settings.observer !== undefined) this.scope = new AsyncResource('LockWait');
  }

  get waitedMs(): number {
    return this.session.clock.now() - this.startedAt;
  }

  get name(): string {
    return this.subject.name;
  }

  get owner(): OwnerId {
    return this.asker.owner ?? '';
  }

  get leaseTimeMs(): number {
    return this.asker.leaseTimeMs;
  }

  get mode(): 'start' | 'enter' {
    return this.asker.mode ?? 'enter';
  }

  /**
   * Enters a queue. Resolves once Redis has granted what it wants, or has refused it while it
   * waits. Rejects as `admit` throws.
   * @param isAdmitted it has already received a grant, too late
   * @param isLetIn the limits do not concern it
   */
  waitIn(room: WaitingRoom, isAdmitted = false, isLetIn = isAdmitted): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const { session, signal, startedAt } = this;
      const use =
        signal === undefined
          ? room.admit(this, isLetIn)
          : listenBefore(signal, this, () => room.admit(this, isLetIn));
      this.resolve = resolve;
      this.reject = reject;
      session.times.beginWait(this, this.dueAt(isAdmitted ? session.clock.now() : startedAt));
      room.add(this, use);
    });
  }

  /** Sends its attempt, always for the same owner: a repeated attempt changes nothing. */
  ask(claim: Claim | undefined, attempt: number): void {
    const wasRemembered = this.mayBeRemembered;
    const { asker } = this;
    if (claim !== undefined || (asker.leavesTrace === true && !this.once)) {
      this.mayBeRemembered = true;
    }
    asker.ask(claim).then(
      (reply) => {
        asker.answered?.();
        this.isUncertain = false;
        this.queue?.onReply(this, attempt, reply);
      },
      (error: unknown) => {
        asker.answered?.();
        const failure = error instanceof LockBackendError ? error : undefined;
        if (failure?.outcome === 'unknown') this.isUncertain = true;
        else this.mayBeRemembered = wasRemembered;
        const unsure = failure !== undefined && this.isUncertain;
        this.queue?.onError(this, unsure ? asUnknown(failure) : error);
      },
    );
  }

  /** A release that is on its way may make this waiter the next owner. */
  named(): void {
    this.wasNamed = true;
    this.asker.named?.();
  }

  grant(sentAt: number, fencingToken: number | undefined): void {
    this.hasLock = true;
    this.sentAt = sentAt;
    this.fencingToken = fencingToken;
    if (this.end()) this.resolve(GRANTED);
  }

  refuse(busy: Busy): void {
    if (this.end()) this.resolve(this.refusalOf(busy));
  }

  fail(error: Error): void {
    if (this.end()) this.reject(error);
  }

  onAbort(): void {
    if (this.signal !== undefined && this.end()) this.reject(reasonOf(this.signal));
  }

  onDue(): void {
    const { clock } = this.session;
    const now = clock.now();
    if (now < this.startedAt + this.limitMs) {
      this.tellSlow();
      // An observer may have ended the wait.
      if (!this.isOver) this.session.times.set(this, this.dueAt(now));
    } else {
      // On a busy machine, an answer that came in time may not have been read yet.
      clock.afterReading(() => {
        this.expire();
      });
    }
  }

  /** An attempt was granted, or may have been, after the caller left. */
  tooLate(): Promise<void> {
    const { name, kind, label } = this.subject;
    return outOfScope(() => {
      tell(this.session.settings.observer, { type: 'late-grant', name, kind, label });
      return this.cancel();
    });
  }

  /** Cancels what it received, or may still receive. Never rejects. */
  cancel(): Promise<void> {
    if (this.isCancelled) return DONE;
    this.isCancelled = true;
    return this.asker.cancel();
  }

  /** The end of the wait, or the time from which it is slow. */
  private dueAt(now: number): number {
    const { startedAt, limitMs } = this;
    const isSlow = this.scope === undefined || now - startedAt >= SLOW_WAIT_MS;
    return startedAt + (isSlow || limitMs < SLOW_WAIT_MS ? limitMs : SLOW_WAIT_MS);
  }

  /** Once, in the async context of the call. */
  private tellSlow(): void {
    const { known, scope, session, subject, waitedMs } = this;
    const { name, kind, label } = subject;
    const event = { type: 'waiting', name, kind, label, waitedMs, ...reasonFor(known) } as const;
    this.scope = undefined;
    scope?.runInAsyncScope(tell, undefined, session.settings.observer, event);
  }

  private expire(): void {
    const { known, session } = this;
    // A busy machine is no outage: a call that Redis has not answered yet waits a little longer.
    if (known.kind === 'none' && this.waitedMs < FIRST_ANSWER_MS) {
      if (!this.isOver) session.times.set(this, session.clock.now() + LOOK_AGAIN_MS);
      return;
    }
    const isAsking = this.queue?.isAsking(this) === true;
    if (!this.end()) return;
    // A single attempt has no earlier answer that could refuse it.
    if (known.kind === 'busy' && !this.once) {
      this.resolve(this.refusalOf(known));
      return;
    }
    const cause = known.kind === 'failed' ? known.error : undefined;
    this.reject(noAnswerError(this, this.isUncertain || isAsking ? 'unknown' : 'none', cause));
  }

  private refusalOf({ until, blockedBy }: Busy): Refusal {
    return { remainingMs: Math.max(0, until - this.session.clock.now()), blockedBy };
  }

  private get known(): Known {
    return this.queue?.known ?? NONE;
  }

  /** Ends the wait. Returns whether this call has ended it. */
  private end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.session.times.endWait(this);
    // A signal may use the key as its listener is removed: then the waiter has a queue only now.
    if (this.signal !== undefined) unlistenTo(this.signal, this);
    const { queue } = this;
    if (this.hasLock) {
      queue?.leave(this);
      return true;
    }
    // The answer to an attempt that is on its way cancels its late grant.
    const mayHaveGot = this.isUncertain && queue?.isAsking(this) !== true;
    queue?.leave(this);
    if (mayHaveGot || this.mayBeRemembered || this.wasNamed) void this.cancel();
    return true;
  }
}

const NOTHING = () => undefined;
const DONE = Promise.resolve();
