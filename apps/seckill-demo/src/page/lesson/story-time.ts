import type { TimeScale } from '../timeline/time-scale.js';

/** The playhead moves in the last part of the time between two events, and rests before. */
const RESTS = 0.6;

/** The position of the playhead after this number of events; a fraction leads to the next one. */
export function timeAt(
  passed: number,
  events: ReadonlyArray<{ readonly at: number }>,
  scale: TimeScale | undefined,
): number {
  const place = Math.floor(passed);
  const last = events[place - 1]?.at ?? -Infinity;
  const next = events[place]?.at ?? Infinity;
  if (scale === undefined) return last;
  const way = Math.max(0, (passed - place - RESTS) / (1 - RESTS));
  if (way === 0) return last;
  const [from, to] = [scale.shareOf(last), scale.shareOf(next)];
  return scale.timeOf(from + (to - from) * way);
}
