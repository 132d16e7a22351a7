import { Deadline } from './deadline.js';
import type { TimerHeap } from './timer-heap.js';

/** Lets any number of callers wait until something has come to rest. */
export class Idle {
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly times: TimerHeap,
    private readonly isIdle: () => boolean,
  ) {}

  /** To be called whenever it may have come to rest. */
  check(): void {
    if (this.#waiting.size === 0 || !this.isIdle()) return;
    for (const resolve of [...this.#waiting]) resolve();
  }

  /** Resolves once it is idle, or time is up. */
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
