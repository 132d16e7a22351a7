import type { Trace } from '../timeline/trace.js';

/** For each buyer, by arrival: the position among the buyers with a piece. Undefined: still waiting. */
export function orderOf(traces: readonly Trace[]): Array<number | undefined> {
  const by = (point: 'doors' | 'lock-set') => (a: Trace, b: Trace) =>
    (a.points.get(point) ?? 0) - (b.points.get(point) ?? 0);
  const buyers = traces.filter(({ points }) => points.has('doors')).sort(by('doors'));
  const bought = buyers.filter(({ points }) => points.has('lock-set')).sort(by('lock-set'));
  return buyers.map((buyer) => (bought.includes(buyer) ? bought.indexOf(buyer) : undefined));
}
