import type { Step } from '../../arena/step.js';

/** One answer of the duel, in ms since the first answer. */
export interface LaneAnswer {
  readonly at: number;
  readonly isSold: boolean;
  /** Its position among the sold pieces, or among the refusals. */
  readonly place: number;
}

export interface Lane {
  /** In order of arrival. */
  readonly answers: readonly LaneAnswer[];
  /** From the first answer to the last one. */
  readonly spanMs: number;
  readonly isOver: boolean;
}

export interface Counts {
  readonly sold: number;
  readonly turnedAway: number;
}

/** The time in which a person can follow a duel. */
const SHOWN_MS = 4_000;
/** The time that a dot flies; it lands when its answer is shown. */
export const FLIGHT_MS = 450;
/** A lane is shown at once, while its answers arrive. */
const SLOWNESS_MEANWHILE = 2;

export function laneOf(steps: readonly Step[]): Lane {
  const answered = steps.filter((step) => step.kind === 'answered').sort((a, b) => a.at - b.at);
  const first = answered[0]?.at ?? 0;
  const counts = { sold: 0, turnedAway: 0 };
  const answers = answered.map(({ at, answer }) => {
    const isSold = answer === 'sold';
    const place = isSold ? counts.sold++ : counts.turnedAway++;
    return { at: at - first, isSold, place };
  });
  return {
    answers,
    spanMs: answers.at(-1)?.at ?? 0,
    isOver: steps.some(({ kind }) => kind === 'cell-ended'),
  };
}

/** The factor by which a lane is slowed down; a whole number. */
export function slownessOf({ spanMs, isOver }: Lane): number {
  if (!isOver) return SLOWNESS_MEANWHILE;
  return Math.max(1, Math.round(SHOWN_MS / Math.max(spanMs, 10)));
}

/** When an answer is shown, in ms since the lane began to be shown. */
export function shownAt(answer: LaneAnswer, slowness: number): number {
  return FLIGHT_MS + answer.at * slowness;
}

export function endOf(lane: Lane, slowness: number): number {
  return FLIGHT_MS + lane.spanMs * slowness;
}

export function countsAt(lane: Lane, shownMs: number, slowness: number): Counts {
  const seen = lane.answers.filter((answer) => shownAt(answer, slowness) <= shownMs);
  const sold = seen.filter(({ isSold }) => isSold).length;
  return { sold, turnedAway: seen.length - sold };
}
