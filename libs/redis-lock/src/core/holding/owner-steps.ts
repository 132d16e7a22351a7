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

/** A renewal for all who call `renew` before it is sent. */
export interface CallersRenewal extends Tries {
  /** The longest that one of them wants. */
  leaseTimeMs: number;
  done: Promise<void>;
}

/**
 * One script of an owner at a time: absolute hold counts must reach Redis in their order. Only a
 * renewal may be on its way beside another one: one of the watchdog, and one of callers.
 */
export class OwnerSteps {
  /** The lead of the wall clock when the last step was sent. */
  protected askedLead = 0;
  /**
   * The number of scripts of this owner on their way, and the steps that wait for their answers.
   */
  private steps = 0;
  private later: (() => void)[] | undefined = undefined;
  /** The renewal of callers that is on its way, and the one that is a step, and waits. */
  sentRenewal: CallersRenewal | undefined = undefined;
  private nextRenewal: CallersRenewal | undefined = undefined;

  constructor(readonly session: Session) {}

  /** A script of this owner is on its way, or a step waits. */
  get isBusy(): boolean {
    return this.steps > 0 || this.later !== undefined;
  }

  /** A script of this owner is sent at this moment. */
  begin(): void {
    this.askedLead = leadOf(this.session.clock);
    this.steps += 1;
  }

  /** As `begin`, for a script that confirms nothing, or with a lead of its own. */
  beginApart(): void {
    this.steps += 1;
  }

  /** Redis has answered the script of this owner that began, or never will. */
  answered(): void {
    this.steps -= 1;
    // Later: first the sender of the step receives its answer.
    if (this.later === undefined || this.steps > 0) return;
    queueMicrotask(() => {
      this.goOn();
    });
  }

  /**
   * Runs the step once no other script of this owner is on its way, in the order of the calls. An
   * attempt sent after its waiter was cancelled would acquire the lock without a holder. A step
   * must not wait for another step of its owner.
   */
  serially<T>(step: () => Promise<T>): Promise<T> {
    return this.isBusy ? this.whenFree(() => this.run(step)) : this.run(step);
  }

  /**
   * Renews at once, beside a step that may take longer than the lease. While that renewal is on its
   * way, later calls share one that waits as a step. Otherwise steps would wait until no call
   * overlaps another.
   */
  renew(leaseTimeMs: number, send: (renewal: CallersRenewal) => Promise<void>): Promise<void> {
    const isNow = this.sentRenewal === undefined && (this.steps > 0 || this.later === undefined);
    const { nextRenewal } = this;
    if (!isNow && nextRenewal !== undefined) {
      nextRenewal.leaseTimeMs = Math.max(nextRenewal.leaseTimeMs, leaseTimeMs);
      return nextRenewal.done;
    }
    const renewal: CallersRenewal = { leaseTimeMs, refusal: undefined, done: DONE };
    const sendNow = () => {
      this.sentRenewal = renewal;
      return this.run(() => send(renewal), renewal);
    };
    if (isNow) return sendNow();
    this.nextRenewal = renewal;
    renewal.done = this.whenFree(() => {
      this.nextRenewal = undefined;
      return sendNow();
    });
    return renewal.done;
  }

  /** Begins in the async context of this call, once no script of this owner is on its way. */
  whenFree<T>(begin: () => T | Promise<T>): Promise<T> {
    const scope = new AsyncResource('LockStep');
    return new Promise((resolve) => {
      (this.later ??= []).push(() => {
        // A step that throws rejects.
        resolve(
          new Promise<T>((go) => {
            go(scope.runInAsyncScope(begin));
          }),
        );
      });
    });
  }

  private run<T>(step: () => Promise<T>, renewal?: CallersRenewal): Promise<T> {
    const running = step();
    this.beginApart();
    const end = () => {
      if (renewal !== undefined) this.sentRenewal = undefined;
      this.answered();
    };
    running.then(end, end);
    return running;
  }

  private goOn(): void {
    // A step that fails before it sends leaves room for the next.
    while (this.steps === 0) {
      const next = this.later?.shift();
      if (next === undefined) break;
      next();
    }
    if (this.later?.length === 0) this.later = undefined;
  }
}

const DONE = Promise.resolve();
