import { countsAt, endOf, FLIGHT_MS, shownAt, slownessOf } from '../page/duel/lane.js';
import type { Lane } from '../page/duel/lane.js';
import { dotsAt } from '../page/duel/layout.js';
import type { Crowd, Dot, Layout } from '../page/duel/layout.js';
import { fixed } from './svg.js';

/** The crowd is visible for this time before the first buyer goes. */
const LEAD_MS = 700;
/** The end is visible for this time before the motion begins again. */
const REST_MS = 4_000;
/** Dots that land within this time fly together. */
const BEAT_MS = 120;

/** The number of repetitions; then the picture stands still. */
export const TIMES = 3;

/** Dots that fly at the same time. */
export interface Flight {
  readonly landsAt: number;
  readonly dots: ReadonlyArray<{
    readonly end: Dot;
    readonly from: string;
    /** Where it turns, if it is sent away. */
    readonly door: string;
  }>;
}

export function flightsOf(layout: Layout, lane: Lane, crowd: Crowd): Flight[] {
  const slowness = slownessOf(lane);
  const at = (shownMs: number): Dot[] => dotsAt(layout, lane, crowd, { shownMs, slowness });
  const [starts, ends] = [at(-1), at(endOf(lane, slowness) + 1)];
  const flights = new Map<number, Array<Flight['dots'][number]>>();
  for (const [index, answer] of lane.answers.entries()) {
    const shown = shownAt(answer, slowness);
    const [start, turn, end] = [starts[index], at(shown - FLIGHT_MS / 2)[index], ends[index]];
    if (start === undefined || turn === undefined || end === undefined) continue;
    const beat = Math.ceil(shown / BEAT_MS) * BEAT_MS;
    const dots = flights.get(beat) ?? [];
    flights.set(beat, [
      ...dots,
      { end, from: offset(end, start), door: offset(end, turn, Math.round) },
    ]);
  }
  return [...flights].map(([landsAt, dots]) => ({ landsAt: LEAD_MS + landsAt, dots }));
}

function offset(end: Dot, dot: Dot, rounded: (number: number) => number | string = fixed): string {
  return `${rounded(dot.x - end.x)}px ${rounded(dot.y - end.y)}px`;
}

/** The number of sold pieces after each beat with a change. */
export function countsOf(lane: Lane): Array<{ readonly at: number; readonly sold: number }> {
  const slowness = slownessOf(lane);
  const counts = [{ at: 0, sold: 0 }];
  for (let shown = 0; shown < endOf(lane, slowness) + BEAT_MS; shown += BEAT_MS) {
    const { sold } = countsAt(lane, shown, slowness);
    if (sold !== counts.at(-1)?.sold) counts.push({ at: LEAD_MS + shown, sold });
  }
  return counts;
}

/** The end of a lane, when its verdict appears. */
export function verdictAt(lane: Lane): number {
  return LEAD_MS + endOf(lane, slownessOf(lane)) + BEAT_MS;
}

/** Whole seconds, the same for all lanes. */
export function durationOf(lanes: readonly Lane[]): number {
  return Math.ceil((Math.max(...lanes.map(verdictAt)) + REST_MS) / 1_000) * 1_000;
}

/** A moment as a share of the whole, in percent. */
export type Share = (ms: number) => string;

export function shareOf(durationMs: number): Share {
  return (ms) => `${Math.round((1_000 * ms) / durationMs) / 10}%`;
}
