import { AsyncResource } from 'node:async_hooks';

import type { Session } from '../session.js';
import { queueMicrotask, systemClock, type Clock } from '../time/clock.js';

/** Not in a lead: small whole numbers take no memory of their own, and each hold has two. */
const FIRST_LEAD = systemClock.wall() - systemClock.now();

/** By how much the wall clock is ahead of the monotonic one, which stands still in a suspension. */
export function leadOf(clock: Clock, now = clock.now()): number {
  return Math.round(clock.wall() - now - FIRST_LEAD);
}

/**
 * One script of an owner at a time: absolute counts are only right in the order in which they were meant.
 */
export class OwnerSteps {
  /** The lead of the wall clock when the last step was sent. */
  protected askedLead = 0;
  /** How many scripts of this owner are on their way, and what waits until there are none. */
  private steps = 0;
  private inTurn: (() => void)[] | undefined = undefined;

  constructor(readonly session: Session) {}

  /** Whether a script of this owner is on its way, or its turn has just come. */
  get isBusy(): boolean {
    return this.steps > 0 || this.inTurn !== undefined;
  }

  /** A script of this owner is sent just now. */
  begin(): void {
    this.beginStep(leadOf(this.session.clock));
  }

  /** As `begin`, at a lead of the wall clock that was read already; many owners may share one script. */
  beginStep(lead: number): void {
    this.askedLead = lead;
    this.steps += 1;
  }

  /** As `begin`, for a script that confirms nothing. */
  beginEnd(): void {
    this.steps += 1;
  }

  endStep(): void {
    this.steps -= 1;
    // First the sender of the step hears of its answer.
    if (this.inTurn === undefined || this.steps > 0) return;
    queueMicrotask(() => {
      this.goOn();
    });
  }

  /**
   * Runs the step once no other script of this owner is on its way. No step goes before those whose turn
   * has just come: behind the cancelling of its waiter, an attempt would take the lock for nobody. A step
   * that waits for another one of its own would wait for ever.
   */
  serially<T>(step: () => Promise<T>): Promise<T> {
    const run = () => {
      const running = step();
      this.begin();
      const end = () => {
        this.endStep();
      };
      running.then(end, end);
      return running;
    };
    return this.isBusy ? this.whenFree(run) : run();
  }

  /** Begins in the async context of this call, once no script of this owner is on its way. */
  whenFree<T>(begin: () => T | Promise<T>): Promise<T> {
    const scope = new AsyncResource('LockStep');
    return new Promise((resolve) => {
      (this.inTurn ??= []).push(() => {
        // A step that throws rejects.
        resolve(
          new Promise<T>((go) => {
            go(scope.runInAsyncScope(begin));
          }),
        );
      });
    });
  }

  private goOn(): void {
    // One that fails at once sends nothing.
    while (this.steps === 0) {
      const next = this.inTurn?.shift();
      if (next === undefined) break;
      next();
    }
    if (this.inTurn?.length === 0) this.inTurn = undefined;
  }
}
