import { AsyncResource } from 'node:async_hooks';

import type { Tries } from '../redis/retry.js';
import type { Session } from '../session.js';
import { queueMicrotask, systemClock, type Clock } from '../time/clock.js';

/**
 * Subtracted from each lead. V8 keeps small whole numbers in the object, and each hold has two.
 * Whole: the difference between two leads depends on the session's clock alone.
 */
const FIRST_LEAD = Math.round(systemClock.wall() - systemClock.now());

/** The lead of the wall clock over the monotonic one, which stands still in a suspension (ms). */
export function leadOf(clock: Clock, now = clock.now()): number {
  // Math.round may return -0. It, and even its sum with 0, is no small whole number for V8.
  return Math.round(clock.wall() - now - FIRST_LEAD) || 0;
}

/** The wall clock's date at this time of the monotonic clock. */
export function dateOf(time: number, lead: number): Date {
  return new Date(time + lead + FIRST_LEAD);
}

/** The renewals that callers have called for: one is on its way, and one may wait. */
interface CallersRenewals extends Tries {
  isSent: boolean;
  next: NextRenewal | undefined;
}

/** A renewal for all who call `renew` before it is sent. */
interface NextRenewal {
  /** The longest that one of them wants. */
  leaseTimeMs: number;
  readonly start: () => void;
  readonly done: Promise<void>;
}

/** Renews the lease by a script. Keeps the error of its last attempt. */
type Renew = (leaseTimeMs: number, tries: Tries) => Promise<void>;

/**
 * One step of an owner at a time: absolute hold counts must reach Redis in their order. Renewals
 * change no count. So one of the watchdog and one of callers may be on their way beside a step. The
 * next step waits for their answers.
 */
export class OwnerSteps {
  /** The lead of the wall clock when the last step was sent. */
  protected askedLead = 0;
  /** The number of scripts of this owner on their way, and how many of them are renewals. */
  private scripts = 0;
  private renewals = 0;
  /** The steps that wait for all their answers. */
  private later: (() => void)[] | undefined = undefined;
  /** Most holds have none. */
  callersRenewals: CallersRenewals | undefined = undefined;

  constructor(readonly session: Session) {}

  /** A script of this owner is on its way, or a step waits. */
  get isBusy(): boolean {
    return this.scripts > 0 || this.later !== undefined;
  }

  /** A script of this owner is sent at this moment. */
  begin(): void {
    this.askedLead = leadOf(this.session.clock);
    this.scripts += 1;
  }

  /** As `begin`, for a script that confirms nothing, or with a lead of its own. */
  beginApart(): void {
    this.scripts += 1;
  }

  /** Redis has answered the script of this owner that began, or never will. */
  answered(): void {
    this.scripts -= 1;
    // Later: first the sender of the step receives its answer.
    if (this.later === undefined || this.scripts > 0) return;
    queueMicrotask(() => {
      this.goOn();
    });
  }

  beginRenewal(): void {
    this.renewals += 1;
    this.scripts += 1;
  }

  renewalAnswered(): void {
    this.renewals -= 1;
    this.answered();
  }

  /**
   * Runs the step once no other script of this owner is on its way, in the order of the calls. An
   * attempt sent after its waiter was cancelled would acquire the lock without a holder. A step
   * must not wait for another step of its owner.
   */
  serially<T>(step: () => Promise<T>): Promise<T> {
    const run = () => {
      const running = step();
      this.beginApart();
      const end = () => {
        this.answered();
      };
      running.then(end, end);
      return running;
    };
    return this.isBusy ? this.whenFree(run) : run();
  }

  /**
   * Renews beside the step on its way, which may take longer than the lease. While another renewal
   * of a caller is on its way, later calls share the next one. It passes no step that waits for
   * renewals alone: else steps would wait for as long as calls overlap.
   */
  renew(leaseTimeMs: number, renew: Renew): Promise<void> {
    const callers = (this.callersRenewals ??= { ...NONE });
    const { isSent, next } = callers;
    if (next !== undefined) {
      next.leaseTimeMs = Math.max(next.leaseTimeMs, leaseTimeMs);
      return next.done;
    }
    if (!isSent && (this.hasStep || this.later === undefined)) {
      return this.sendRenewal(callers, leaseTimeMs, renew);
    }
    const [start, done] = inScope(() => {
      const longestMs = callers.next?.leaseTimeMs ?? leaseTimeMs;
      callers.next = undefined;
      return this.sendRenewal(callers, longestMs, renew);
    });
    callers.next = { leaseTimeMs, start, done };
    (this.later ??= []).push(start);
    return done;
  }

  /** Begins in the async context of this call, once no script of this owner is on its way. */
  whenFree<T>(begin: () => T | Promise<T>): Promise<T> {
    const [start, result] = inScope(begin);
    (this.later ??= []).push(start);
    return result;
  }

  /** A step is on its way, not only renewals. */
  private get hasStep(): boolean {
    return this.scripts > this.renewals;
  }

  private sendRenewal(callers: CallersRenewals, leaseTimeMs: number, renew: Renew): Promise<void> {
    callers.isSent = true;
    const running = renew(leaseTimeMs, callers);
    this.beginRenewal();
    const end = () => {
      callers.isSent = false;
      callers.refusal = undefined;
      this.renewalAnswered();
      this.renewBesideStep();
    };
    running.then(end, end);
    return running;
  }

  private goOn(): void {
    // A step that fails before it sends leaves room for the next.
    while (this.scripts === 0) {
      const next = this.later?.shift();
      if (next === undefined) break;
      next();
    }
    if (this.later?.length === 0) this.later = undefined;
    this.renewBesideStep();
  }

  /** The renewal that waits need not wait for the steps ahead of it. */
  private renewBesideStep(): void {
    const { isSent, next } = this.callersRenewals ?? NONE;
    if (next === undefined || isSent || !this.hasStep) return;
    const later = this.later?.filter((one) => one !== next.start);
    this.later = later?.length === 0 ? undefined : later;
    next.start();
  }
}

const NONE: CallersRenewals = { isSent: false, next: undefined, refusal: undefined };

/** A function that begins the work in the async context of this call, and the result. */
function inScope<T>(begin: () => T | Promise<T>): [start: () => void, result: Promise<T>] {
  const scope = new AsyncResource('LockStep');
  let start = () => {};
  const result = new Promise<T>((resolve) => {
    start = () => {
      // A step that throws rejects.
      resolve(
        new Promise<T>((go) => {
          go(scope.runInAsyncScope(begin));
        }),
      );
    };
  });
  return [start, result];
}
