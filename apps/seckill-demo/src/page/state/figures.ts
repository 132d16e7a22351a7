import type { BooksSeen, OrderAnswered, Step } from '../../arena/step.js';

/** The answers of one second. */
export interface Second {
  readonly second: number;
  readonly sold: number;
  /** The times of all answers, sold or not. */
  readonly latencies: readonly number[];
}

export interface Figures {
  readonly books: BooksSeen | undefined;
  /** The latest seconds; a second without an answer is missing. */
  readonly seconds: readonly Second[];
}

export const noFigures: Figures = { books: undefined, seconds: [] };

const SECONDS_KEPT = 120;

export function figuresAfter(figures: Figures, step: Step): Figures {
  switch (step.kind) {
    case 'books':
      return { ...figures, books: step };
    case 'answered':
      // Readers, payers and visitors are answered as well; they order nothing.
      if (step.cell.startsWith('part/')) return figures;
      return { ...figures, seconds: secondsAfter(figures.seconds, step) };
    default:
      return figures;
  }
}

function secondsAfter(
  seconds: readonly Second[],
  answer: OrderAnswered & { readonly at: number },
): readonly Second[] {
  const number = Math.floor(answer.at / 1_000);
  const place = seconds.findLastIndex(({ second }) => second === number);
  const known = seconds[place] ?? { second: number, sold: 0, latencies: [] };
  const changed = {
    second: number,
    sold: known.sold + (answer.answer === 'sold' ? 1 : 0),
    latencies: [...known.latencies, answer.tookMs],
  };
  if (place >= 0) return seconds.with(place, changed);
  return [...seconds.slice(1 - SECONDS_KEPT), changed].sort((a, b) => a.second - b.second);
}

export interface Point {
  readonly second: number;
  readonly ordersPerSecond: number;
  /** Without answers there is no latency. */
  readonly p99Ms: number | null;
}

/** Every second up to now, including those without an answer. */
export function pointsOf({ seconds }: Figures, nowMs: number, count: number): Point[] {
  const bySecond = new Map(seconds.map((second) => [second.second, second]));
  const last = Math.floor(nowMs / 1_000);
  const first = Math.max(0, last - count + 1);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const second = first + index;
    const known = bySecond.get(second);
    return {
      second,
      ordersPerSecond: known?.sold ?? 0,
      p99Ms: known === undefined ? null : p99(known.latencies),
    };
  });
}

/** Nearest rank, as in the arena's own figures. */
function p99(latencies: readonly number[]): number {
  const sorted = [...latencies].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
}
