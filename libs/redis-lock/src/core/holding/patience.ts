import { quoteName, withLockName } from '../api/errors.js';
import { notAnswered } from '../redis/retry.js';
import type { Group, Timed } from '../time/timer-heap.js';
import type { Hold } from './hold.js';

/** A caller of `release` or `renew` waits for Redis for this time. The release goes on after it. */
export const PATIENCE_MS = 2_000;

/** A caller that waits for an answer about its hold, for 2 s at most. */
export class Patience implements Timed {
  heapIndex = -1;
  group: Group | undefined = undefined;
  private isSettled = false;
  private running: Promise<unknown> | undefined = undefined;

  constructor(
    readonly hold: Hold,
    private readonly what: 'released' | 'renewed',
    protected readonly resolve: () => void,
    private readonly reject: (error: Error) => void,
  ) {}

  /** The wait begins now. */
  begin(now: number): this {
    this.hold.session.times.beginWait(this, now + PATIENCE_MS);
    return this;
  }

  /** Settles with this work, which goes on in the background after 2 s. */
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
    // On a busy machine, an answer that came in time may not have been read yet.
    this.hold.session.clock.afterReading(() => {
      if (!this.end()) return;
      const { hold, what } = this;
      void hold.session.background.run(() => this.rest());
      const lockName = hold.name;
      const cause = what === 'renewed' ? hold.callersRenewals?.refusal : hold.lastRefusal;
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

  /** Resolves when the work has ended. */
  protected rest(): Promise<unknown> {
    return this.running ?? Promise.resolve();
  }

  private end(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    this.hold.session.times.endWait(this);
    return true;
  }
}
