import { quoteName, withLockName } from '../api/errors.js';
import { notAnswered } from '../redis/retry.js';
import type { Timed } from '../time/timer-heap.js';
import type { Hold } from './hold.js';

/** How long a caller of `release` or `renew` waits for Redis. A release is tried on after that. */
export const PATIENCE_MS = 2_000;

/** A caller that waits for an answer about its hold: once, for the answer or until its patience is over. */
export class Patience implements Timed {
  heapIndex = -1;
  private isSettled = false;
  private running: Promise<unknown> | undefined = undefined;

  constructor(
    readonly hold: Hold,
    private readonly what: string,
    private readonly resolve: () => void,
    private readonly reject: (error: Error) => void,
  ) {}

  /** It waits from now on. */
  begin(now: number): this {
    const { times } = this.hold.session;
    times.set(this, now + PATIENCE_MS);
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

  done(): void {
    if (this.end()) this.succeed();
  }

  fail(error: unknown): void {
    if (this.end()) this.giveUp(withLockName(error, this.hold.name) as Error);
  }

  onDue(): void {
    // On a busy machine, what was answered in time may not have been read yet.
    this.hold.session.clock.afterReading(() => {
      if (!this.end()) return;
      const { hold, what } = this;
      void hold.session.background.run(() => this.rest());
      const { name: lockName, refusal: cause } = hold;
      const details = { lockName, outcome: 'unknown', cause } as const;
      this.giveUp(notAnswered(`Lock ${quoteName(lockName)} was not ${what}`, PATIENCE_MS, details));
    });
  }

  protected succeed(): void {
    this.resolve();
  }

  protected giveUp(error: Error): void {
    this.reject(error);
  }

  /** Resolves when what it has waited for has ended. */
  protected rest(): Promise<unknown> {
    return this.running ?? Promise.resolve();
  }

  private end(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    const { times } = this.hold.session;
    times.delete(this);
    times.endWait();
    return true;
  }
}
