import type { Bar } from './bar.js';

/** A time in which several holders could write. */
export interface Overlap {
  readonly from: number;
  readonly to: number;
  /** Their highest number at once. */
  readonly holders: number;
}

/** The clocks of two processes differ by about this much. */
const TOLERANCE_MS = 0.8;

/** Two holders that were inside at once and could both write; reads alone do no harm. */
export function overlapsOf(bars: readonly Bar[]): Overlap[] {
  const edges = bars
    .filter(({ mayWrite }) => mayWrite)
    .flatMap(({ from, harmlessAt }) => [
      { at: from, change: 1 },
      { at: Math.max(harmlessAt - TOLERANCE_MS, (from + harmlessAt) / 2), change: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.change - b.change);
  const overlaps: Overlap[] = [];
  let inside = 0;
  let open: Omit<Overlap, 'to'> | undefined;
  for (const { at, change } of edges) {
    inside += change;
    if (inside >= 2) {
      open = { from: open?.from ?? at, holders: Math.max(open?.holders ?? 0, inside) };
    } else if (open !== undefined) {
      overlaps.push({ ...open, to: at });
      open = undefined;
    }
  }
  return overlaps;
}
