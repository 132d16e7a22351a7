import { performance } from 'node:perf_hooks';
import type { Happening, Step } from './step.js';

/** A shop that serves for days keeps its latest steps only. */
const KEPT = 100_000;

/** The steps of a run: the arena adds to them, and any number of readers reads them from any place. */
export class Steps {
  readonly #startedAt = performance.timeOrigin + performance.now();
  #kept: Step[] = [];
  /** How many older steps are no longer kept. */
  #dropped = 0;
  #isClosed = false;
  #wake: Array<() => void> = [];

  /** `epochMs`: when it happened, if another process saw it. */
  add(happening: Happening, epochMs = performance.timeOrigin + performance.now()): void {
    if (this.#isClosed) return;
    const at = Math.round((epochMs - this.#startedAt) * 10) / 10;
    this.#kept.push({ at, ...happening });
    if (this.#kept.length > 2 * KEPT) {
      this.#kept = this.#kept.slice(KEPT);
      this.#dropped += KEPT;
    }
    this.#wakeReaders();
  }

  /** No step comes any more: readers end when they have read all. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReaders();
  }

  /**
   * Yields the steps in batches, with their number so far, from the step after `read` on. Waits for
   * more until the steps are closed or the signal aborts.
   */
  async *batches(
    read = 0,
    signal?: AbortSignal,
  ): AsyncGenerator<{ readonly steps: readonly Step[]; readonly read: number }> {
    signal?.addEventListener('abort', this.#wakeReaders, { once: true });
    for (let place = read; signal?.aborted !== true;) {
      const steps = this.#kept.slice(Math.max(0, place - this.#dropped));
      place = this.#dropped + this.#kept.length;
      if (steps.length > 0) yield { steps, read: place };
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Step> {
    for await (const { steps } of this.batches()) yield* steps;
  }

  readonly #wakeReaders = (): void => {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  };
}
