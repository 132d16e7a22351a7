import type { Trace } from '../timeline/trace.js';

/** For each buyer, in the order of arrival: the place among those who bought. */
export function orderOf(traces: readonly Trace[]): number[] {
  const buyers = traces.filter(({ points }) => points.has('doors') && points.has('lock-set'));
  const by = (point: 'doors' | 'lock-set') => (a: Trace, b: Trace) =>
    (a.points.get(point) ?? 0) - (b.points.get(point) ?? 0);
  const bought = [...buyers].sort(by('lock-set'));
  return [...buyers].sort(by('doors')).map((buyer) => bought.indexOf(buyer));
}
