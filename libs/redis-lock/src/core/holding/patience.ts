import { quoteName, withLockName } from '../api/errors.js';
import { notAnswered } from '../redis/retry.js';
import type { Timed } from '../time/timer-heap.js';
import type { Hold } from './hold.js';

/** How long a caller of `release` or `renew` waits for Redis. A release is tried on after that. */
export const PATIENCE_MS = 2_000;

/** A caller that waits for an answer about its hold: once, for the answer or until its patience is over. */
export class Patience implements Timed {
  heapIndex = -1;
  private isOver = false;
  private running: Promise<unknown> | undefined = undefined;

  constructor(
    private readonly hold: Hold,
    private readonly what: string,
    private readonly resolve: () => void,
    private readonly reject: (error: Error) => void,
  ) {}

  /** It waits from now on. */
  begin(): this {
    const { times, clock } = this.hold.session;
    times.set(this, clock.now() + PATIENCE_MS);
    times.beginWait();
    return this;
  }

  /** Settles with this work, which goes on in the background when the patience is over. */
  follow(work: Promise<unknown>): void {
    this.running = work;
    work.then(
      () => {
        this.done();
      },
      (error: unknown) => {
        this.fail(error);
      },
    );
  }

  /** As `follow`, for work that tells by `done` and `fail` how it ends. */
  expect(work: Promise<unknown>): void {
    this.running = work;
  }

  done(): void {
    if (this.end()) this.resolve();
  }

  fail(error: unknown): void {
    if (this.end()) this.reject(withLockName(error, this.hold.name) as Error);
  }

  onDue(): void {
    // On a busy machine, what was answered in time may not have been read yet.
    this.hold.session.clock.afterReading(() => {
      if (!this.end()) return;
      const { running, hold, what } = this;
      void hold.session.background.run(() => running ?? Promise.resolve());
      const { name: lockName, refusal: cause } = hold;
      const details = { lockName, outcome: 'unknown', cause } as const;
      this.reject(notAnswered(`Lock ${quoteName(lockName)} was not ${what}`, PATIENCE_MS, details));
    });
  }

  private end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    const { times } = this.hold.session;
    times.delete(this);
    times.endWait();
    return true;
  }
}
