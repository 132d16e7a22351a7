import { performance } from 'node:perf_hooks';
import type { Happening, Step } from './step.js';

/** A shop that serves for days keeps this number of its first steps (the run) and of its latest steps. */
const KEPT = 100_000;
/** Steps in between that stay: without them, a page that opens later cannot show the latest ones. */
const LANDMARKS: ReadonlySet<Step['kind']> = new Set([
  ...(['run-began', 'run-ended', 'cell-began', 'cell-ended'] as const),
  ...(['process', 'sale-opened'] as const),
]);

/** The steps of a run. The arena adds steps, and any number of readers reads them from any position. */
export class Steps {
  readonly #startedAt = performance.timeOrigin + performance.now();
  #kept: Step[] = [];
  /** The number of kept steps before the first dropped one. */
  #early = 0;
  #added = 0;
  #isClosed = false;
  #wake: Array<() => void> = [];

  /** `epochMs`: the time of the event, if another process reports it. */
  add(happening: Happening, epochMs = performance.timeOrigin + performance.now()): void {
    if (this.#isClosed) return;
    const at = Math.round((epochMs - this.#startedAt) * 10) / 10;
    this.#kept.push({ at, ...happening });
    this.#added += 1;
    if (this.#kept.length > this.#early + 2 * KEPT) this.#forget();
    this.#wakeReaders();
  }

  /** No more steps follow: readers end when they have read all. */
  close(): void {
    this.#isClosed = true;
    this.#wakeReaders();
  }

  /**
   * Yields the steps in batches, each with its count so far, from the step after `read` on. Waits
   * for more until the steps are closed or the signal aborts.
   */
  async *batches(
    read = 0,
    signal?: AbortSignal,
  ): AsyncGenerator<{ readonly steps: readonly Step[]; readonly read: number }> {
    signal?.addEventListener('abort', this.#wakeReaders, { once: true });
    for (let place = read; signal?.aborted !== true;) {
      const steps = this.#since(place);
      place = this.#added;
      if (steps.length > 0) yield { steps, read: place };
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Step> {
    for await (const { steps } of this.batches()) yield* steps;
  }

  #forget(): void {
    const early = this.#kept
      .slice(0, -KEPT)
      .filter(({ kind }, place) => place < KEPT || LANDMARKS.has(kind));
    this.#kept = early.concat(this.#kept.slice(-KEPT));
    this.#early = early.length;
  }

  /** All kept steps, for a reader that has missed some. */
  #since(place: number): Step[] {
    const latest = this.#added - this.#kept.length + this.#early;
    return this.#kept.slice(place < latest ? 0 : place - latest + this.#early);
  }

  readonly #wakeReaders = (): void => {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  };
}
