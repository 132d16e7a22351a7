import type { Timeline } from './timeline.js';

/** A pause longer than this is drawn shorter than it was. */
const KNEE_MS = 4;
/** A pause is marked if it is drawn with less than this share of its length. */
const MARKED_BELOW = 0.35;

export interface Pause {
  /** Between the edges, as in `shareOf`. */
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

/**
 * The position of a time between the left edge, 0, and the right edge, 1. A second without events
 * takes little more room than the milliseconds with all the events.
 */
export class TimeScale {
  readonly #times: readonly number[];
  /** The position of each time, before the division by the whole length. */
  readonly #places: readonly number[];
  readonly pauses: readonly Pause[];

  private constructor(times: readonly number[], knee: number) {
    const places = [0];
    for (let index = 1; index < times.length; index += 1) {
      const gap = (times[index] ?? 0) - (times[index - 1] ?? 0);
      places.push((places.at(-1) ?? 0) + drawnLength(gap, knee));
    }
    this.#times = times;
    this.#places = places;
    this.pauses = this.#pausesOf(knee);
  }

  static of(timeline: Timeline): TimeScale {
    const { from, to, bars, waits, crowds, gaps, marks, renewals, overlaps } = timeline;
    const times = [
      ...[from, to],
      ...[...bars, ...waits, ...crowds, ...gaps, ...overlaps].flatMap((span) => [
        span.from,
        span.to,
      ]),
      ...bars.flatMap(({ harmlessAt, leaseOverAt = harmlessAt }) => [harmlessAt, leaseOverAt]),
      ...[...marks, ...renewals].map(({ at }) => at),
    ];
    return new TimeScale(
      [...new Set(times)].sort((a, b) => a - b),
      KNEE_MS,
    );
  }

  /** Every ms takes the same room. */
  static even(from: number, to: number): TimeScale {
    return new TimeScale([from, Math.max(to, from + 1)], Infinity);
  }

  shareOf(at: number): number {
    const after = firstNotBelow(this.#times, at);
    if (after === 0) return 0;
    if (after === this.#times.length) return 1;
    return this.#between(this.#times, this.#places, after, at) / this.#length;
  }

  timeOf(share: number): number {
    const place = share * this.#length;
    const after = firstNotBelow(this.#places, place);
    if (after === 0) return this.#times[0] ?? 0;
    if (after === this.#places.length) return this.#times.at(-1) ?? 0;
    return this.#between(this.#places, this.#times, after, place);
  }

  get #length(): number {
    return (this.#places.at(-1) ?? 0) || 1;
  }

  #between(from: readonly number[], to: readonly number[], after: number, value: number): number {
    const [low, high] = [from[after - 1] ?? 0, from[after] ?? 0];
    const [start, end] = [to[after - 1] ?? 0, to[after] ?? 0];
    return high === low ? end : start + ((value - low) / (high - low)) * (end - start);
  }

  #pausesOf(knee: number): Pause[] {
    return this.#times.slice(1).flatMap((time, index) => {
      const ms = time - (this.#times[index] ?? 0);
      if (drawnLength(ms, knee) > ms * MARKED_BELOW) return [];
      const [left, right] = [this.#places[index] ?? 0, this.#places[index + 1] ?? 0];
      return { from: left / this.#length, to: right / this.#length, ms };
    });
  }
}

function drawnLength(ms: number, knee: number): number {
  return Number.isFinite(knee) ? knee * Math.log2(1 + ms / knee) : ms;
}

/** The index of the first sorted number that is not below `value`, or their count. */
function firstNotBelow(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
