import type { TimeScale } from '../timeline/time-scale.js';

/** `slow`: a cell takes a few seconds, and its pauses are as short as they are drawn. */
export type Pace = 'slow' | number;

export const PACES: readonly Pace[] = ['slow', 1, 0.25, 0.05];

const SLOW_MS = 6_000;

/** The position of the playhead, `sinceMs` after it was at `from`. */
export function playedTo(from: number, sinceMs: number, pace: Pace, scale: TimeScale): number {
  if (pace !== 'slow') return from + sinceMs * pace;
  return scale.timeOf(Math.min(1, scale.shareOf(from) + sinceMs / SLOW_MS));
}

/**
 * Calls `move` in each frame with the ms since the last one, until it returns false. Returns the
 * function that ends it.
 */
export function eachFrame(move: (passedMs: number) => boolean): () => void {
  let frame = 0;
  let last = performance.now();
  const next = (time: number): void => {
    const passedMs = Math.max(0, time - last);
    last = time;
    if (move(passedMs)) frame = requestAnimationFrame(next);
  };
  frame = requestAnimationFrame(next);
  return () => {
    cancelAnimationFrame(frame);
  };
}
