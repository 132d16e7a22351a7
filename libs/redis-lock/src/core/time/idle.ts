import { Deadline } from './deadline.js';
import type { TimerHeap } from './timer-heap.js';

/** Lets any number of callers wait until the subject is idle. */
export class Idle {
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly times: TimerHeap,
    private readonly isIdle: () => boolean,
  ) {}

  /** Call this after each step that may have made it idle. */
  check(): void {
    if (this.#waiting.size === 0 || !this.isIdle()) return;
    for (const resolve of [...this.#waiting]) resolve();
  }

  /** Resolves once it is idle, or the time is up. */
  async within(timeoutMs: number): Promise<void> {
    if (this.isIdle()) return;
    await new Deadline(this.times, timeoutMs, undefined).wait<undefined>((resolve) => {
      const stop = () => {
        resolve(undefined);
      };
      this.#waiting.add(stop);
      return () => {
        this.#waiting.delete(stop);
      };
    });
  }
}
