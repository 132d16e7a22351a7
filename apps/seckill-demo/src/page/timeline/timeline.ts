import type { Step } from '../../arena/step.js';
import type { Bar, Wait } from './bar.js';
import { crowdsIn } from './crowds.js';
import type { Crowd } from './crowds.js';
import { gapsOf, suspectsOf } from './gaps.js';
import type { Gap } from './gaps.js';
import { answerMarks, lateMarks, struckMarks, withoutEchoes } from './marks.js';
import type { Mark } from './marks.js';
import { overlapsOf } from './overlaps.js';
import type { Overlap } from './overlaps.js';
import { beganAt, earliest, harmlessAt, mayWrite, tracesOf } from './trace.js';
import type { Trace } from './trace.js';

export interface Timeline {
  readonly from: number;
  readonly to: number;
  readonly lanes: ReadonlyArray<{ readonly process: number; readonly rows: number }>;
  readonly bars: readonly Bar[];
  readonly waits: readonly Wait[];
  /** Replaces the waits if they are many, or if only their number is known. */
  readonly crowds: readonly Crowd[];
  readonly renewals: ReadonlyArray<{ readonly process: number; readonly at: number }>;
  /** While the library suspected its hold. */
  readonly suspects: readonly Gap[];
  readonly gaps: readonly Gap[];
  readonly marks: readonly Mark[];
  readonly overlaps: readonly Overlap[];
}

/** A picture with more orders has no room for a line for each waiter. */
const FEW = 12;

export interface TimelineOptions {
  /** Each has a lane, even without events. */
  readonly processes?: readonly number[];
  /** An open bar lasts until then; without it, until the last step. */
  readonly until?: number | undefined;
}

/** The complete timeline of a cell's holders. */
export function timelineOf(
  unordered: readonly Step[],
  { processes = [], until }: TimelineOptions = {},
): Timeline {
  const steps = unordered.filter(isSeen).sort((a, b) => a.at - b.at);
  const traces = tracesOf(steps);
  const from = steps[0]?.at ?? 0;
  const to = until ?? steps.at(-1)?.at ?? 0;
  const gaps = gapsOf(steps, to);
  const isFew = traces.length <= FEW;
  const rows = rowsOf(traces, isFew, to);
  const bars = barsOf(traces, { steps, gaps, rows, to });
  const waits = waitsOf(traces, rows, to);
  const marks = isFew
    ? withoutEchoes([...struckMarks(steps), ...answerMarks(traces), ...lateMarks(traces, bars)])
    : struckMarks(steps);
  return {
    from,
    to,
    lanes: lanesOf(steps, rows, traces, processes),
    bars,
    waits: isFew ? waits : [],
    crowds: isFew && waits.length > 0 ? [] : crowdsIn(steps, waits, to),
    renewals: steps.flatMap((step) =>
      step.kind === 'lock' && step.event === 'renewed'
        ? { process: step.process, at: step.at }
        : [],
    ),
    suspects: suspectsOf(steps, to),
    gaps,
    marks: marks.sort((a, b) => a.at - b.at),
    overlaps: overlapsOf(bars),
  };
}

/** Leaves out the preparations of a cell: no buyer has come to the doors yet. */
function isSeen(step: Step): boolean {
  if (step.kind === 'lock') return step.buyer !== undefined || AFTER_HOLD.includes(step.event);
  return SEEN.includes(step.kind);
}

const SEEN: ReadonlyArray<Step['kind']> = ['passed', 'answered', 'struck', 'waiters'];
const AFTER_HOLD: readonly string[] = ['renewed', 'renewal-failed', 'suspect', 'recovered', 'lost'];

type Rows = ReadonlyMap<string, number>;

/** Orders of the same process at the same time lie in rows one below the other. */
function rowsOf(traces: readonly Trace[], isFew: boolean, end: number): Rows {
  const rows = new Map<string, number>();
  const freeAt = new Map<number, number[]>();
  const start = (trace: Trace): number | undefined =>
    (isFew ? trace.points.get('doors') : undefined) ?? beganAt(trace);
  const inside = traces.filter((trace) => start(trace) !== undefined);
  for (const trace of inside.sort((a, b) => (start(a) ?? 0) - (start(b) ?? 0))) {
    const free = freeAt.get(trace.process) ?? [];
    const place = free.findIndex((at) => at <= (start(trace) ?? 0));
    const row = place < 0 ? free.length : place;
    free[row] = trace.answeredAt ?? end;
    freeAt.set(trace.process, free);
    rows.set(trace.buyer, row);
  }
  return rows;
}

interface Surroundings {
  readonly steps: readonly Step[];
  readonly gaps: readonly Gap[];
  readonly rows: Rows;
  readonly to: number;
}

function barsOf(traces: readonly Trace[], around: Surroundings): Bar[] {
  return traces.flatMap((trace) => {
    const from = beganAt(trace);
    if (from === undefined) return [];
    const { process, buyer, isOrder, answer, reason, points } = trace;
    const released = points.has('before-commit') ? undefined : trace.releasedAt;
    const death = deathOf(process, from, around);
    // The buyer may see the cut connection before the arena reports the death.
    const answered = answer === 'cut' ? death : trace.answeredAt;
    const to = earliest(released, answered, death) ?? around.to;
    return {
      process,
      buyer,
      isOrder,
      from,
      to,
      leaseOverAt: points.has('lock-set') ? leaseOverAt(trace, to, traces, around) : undefined,
      answer,
      reason,
      harmlessAt: Math.min(to, harmlessAt(trace) ?? to),
      mayWrite: mayWrite(trace),
      row: around.rows.get(buyer) ?? 0,
    };
  });
}

function deathOf(process: number, from: number, { gaps }: Surroundings): number | undefined {
  return gaps.find((gap) => gap.what === 'ended' && gap.process === process && gap.from >= from)
    ?.from;
}

/** The lease ended, or another owner got the lock before this holder released it. */
function leaseOverAt(
  trace: Trace,
  to: number,
  traces: readonly Trace[],
  { steps }: Surroundings,
): number | undefined {
  const set = trace.points.get('lock-set') ?? 0;
  // A release is reported when Redis has answered; the next holder may be inside by then.
  const doneAt = earliest(trace.releasedAt, trace.points.get('before-delete')) ?? to;
  const isWithin = (at: number | undefined): at is number =>
    at !== undefined && at > set && at < to;
  const ended = steps.find(
    (step) => step.kind === 'struck' && step.what === 'lease-ended' && isWithin(step.at),
  )?.at;
  const next = traces
    .map((other) => other.points.get('lock-set'))
    .filter((at) => isWithin(at) && at < doneAt);
  return earliest(ended, ...next);
}

function waitsOf(traces: readonly Trace[], rows: Rows, end: number): Wait[] {
  return traces.flatMap(({ process, buyer, points, answeredAt }) => {
    const from = points.get('doors');
    if (from === undefined) return [];
    const to = points.get('lock-set') ?? points.get('before-read') ?? answeredAt ?? end;
    return { process, from, to, row: rows.get(buyer) ?? 0 };
  });
}

function lanesOf(
  steps: readonly Step[],
  rows: Rows,
  traces: readonly Trace[],
  processes: readonly number[],
): Array<{ process: number; rows: number }> {
  const seen = steps.flatMap((step) =>
    'process' in step && step.process !== undefined && step.process !== 0 ? step.process : [],
  );
  return [...new Set([...processes, ...seen])].map((process) => {
    const own = traces.filter((trace) => trace.process === process);
    const deepest = Math.max(0, ...own.map(({ buyer }) => rows.get(buyer) ?? 0));
    return { process, rows: deepest + 1 };
  });
}
