import type { Clock, Timer } from '../core/time/clock.js';
import { describeValue, LockArgumentError } from '../core/api/errors.js';

/** The real function: a test that fakes the timers must not stop this clock. */
const { setImmediate } = globalThis;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

class ManualTimer implements Timer {
  constructor(
    readonly dueAt: number,
    readonly callback: () => void,
  ) {}

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * A clock that only `advance` moves: leases end, renewals are sent and waits end only then. It sets
 * no timer of the system.
 */
export class ManualClock implements Clock {
  readonly #startedAt = Date.now();
  readonly #timers = new Set<ManualTimer>();
  #now = 0;
  #last: Promise<void> = Promise.resolve();
  readonly #runs = new Set<Promise<unknown>>();
  #isFiring = false;

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#startedAt + this.#now;
  }

  after(delayMs: number, callback: () => void): Timer | undefined {
    if (delayMs === Infinity) return undefined;
    const timer = new ManualTimer(this.#now + Math.max(0, Math.ceil(delayMs)), callback);
    this.#timers.add(timer);
    if (this.#runs.size > 0) void this.#fireAll();
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    this.#timers.delete(timer as ManualTimer);
  }

  afterReading(callback: () => void): void {
    this.after(0, callback);
  }

  /**
   * Lets this time pass. Due callbacks run in order, each followed by its immediate consequences.
   * Resolves when all of them have run. Does not wait for work that waits for anything except
   * locks, such as a file or a real timer.
   * @throws {LockArgumentError} `ms` is negative or not finite
   */
  async advance(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) {
      throw new LockArgumentError(
        `advance needs a finite number of milliseconds, 0 or more, not ${describeValue(ms)}`,
      );
    }
    this.#last = this.#last.then(() => this.#advance(ms));
    await this.#last;
  }

  /** Due callbacks run by themselves, without `advance`, until this settles. */
  run(until: Promise<unknown> = new Promise(() => undefined)): void {
    const end = () => this.#runs.delete(until);
    this.#runs.add(until);
    until.then(end, end);
    void this.#fireAll();
  }

  async #advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await turn();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      await this.#fire(next);
    }
    this.#now = Math.max(this.#now, until);
  }

  async #fireAll(): Promise<void> {
    if (this.#isFiring) return;
    this.#isFiring = true;
    await turn();
    while (this.#runs.size > 0) {
      const next = this.#next(Infinity);
      if (next === undefined) break;
      await this.#fire(next);
    }
    this.#isFiring = false;
  }

  async #fire(timer: ManualTimer): Promise<void> {
    this.#timers.delete(timer);
    this.#now = Math.max(this.#now, timer.dueAt);
    timer.callback();
    await turn();
  }

  /** The first that is due; among equal times, the one that was armed first. */
  #next(until: number): ManualTimer | undefined {
    let next: ManualTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt <= until && (next === undefined || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}
