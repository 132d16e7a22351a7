import type { Step, Struck } from '../../arena/step.js';
import { overlapsOf } from './overlaps.js';
import type { Overlap } from './overlaps.js';
import { beganAt, earliest, harmlessAt, mayWrite, tracesOf } from './trace.js';
import type { Trace } from './trace.js';

/** A critical section. */
export interface Bar {
  readonly process: number;
  readonly buyer: string;
  readonly from: number;
  readonly to: number;
  /** Since then the process believes in vain that it holds the lock. */
  readonly leaseOverAt: number | undefined;
  readonly answer: Trace['answer'];
  /** From here on it could do no more harm. */
  readonly harmlessAt: number;
  readonly mayWrite: boolean;
  readonly row: number;
}

/** An order that waits for its lock, or for its answer. */
export interface Wait {
  readonly process: number;
  readonly from: number;
  readonly to: number;
  readonly row: number;
}

export interface Gap {
  readonly process: number;
  readonly from: number;
  readonly to: number;
  readonly what: 'frozen' | 'cut' | 'blocked' | 'ended';
}

export type MarkKind =
  | Exclude<Struck['what'], 'frozen' | 'cut' | 'blocked' | 'thawed' | 'joined'>
  | 'wrote-late'
  | 'busy'
  | 'refused'
  | 'lost'
  | 'renewal-failed';

/** Something that needs a word. */
export interface Mark {
  /** Undefined: it befell the lock, or Redis. */
  readonly process: number | undefined;
  readonly at: number;
  readonly kind: MarkKind;
  readonly reason: string | undefined;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  readonly lanes: ReadonlyArray<{ readonly process: number; readonly rows: number }>;
  readonly bars: readonly Bar[];
  readonly waits: readonly Wait[];
  readonly renewals: ReadonlyArray<{ readonly process: number; readonly at: number }>;
  /** While the library doubted its hold. */
  readonly suspects: readonly Gap[];
  readonly gaps: readonly Gap[];
  readonly marks: readonly Mark[];
  readonly overlaps: readonly Overlap[];
}

/** A picture with more orders has no room for those that wait. */
const FEW = 12;

/** Everything that a cell shows of its holders; the end of the cell closes all. */
export function timelineOf(unordered: readonly Step[]): Timeline {
  const steps = unordered.filter(isSeen).sort((a, b) => a.at - b.at);
  const traces = tracesOf(steps);
  const from = steps[0]?.at ?? 0;
  const to = steps.at(-1)?.at ?? 0;
  const gaps = gapsOf(steps, to);
  const isFew = traces.length <= FEW;
  const rows = rowsOf(traces, isFew, to);
  const bars = barsOf(traces, { steps, gaps, rows, to });
  const { waits, marks } = isFew
    ? {
        waits: waitsOf(traces, rows, to),
        marks: [...struckMarks(steps), ...answerMarks(traces), ...lateMarks(traces, bars)],
      }
    : { waits: [], marks: struckMarks(steps) };
  return {
    from,
    to,
    lanes: lanesOf(steps, rows, traces),
    bars,
    waits,
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

/** The preparations of a cell are not shown: nobody has come to the doors yet. */
function isSeen(step: Step): boolean {
  if (step.kind === 'lock') return step.buyer !== undefined || AFTER_HOLD.includes(step.event);
  return step.kind === 'passed' || step.kind === 'answered' || step.kind === 'struck';
}

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
    const { process, buyer, answer, points } = trace;
    const released = points.has('before-commit') ? undefined : trace.releasedAt;
    const to = earliest(released, trace.answeredAt, deathOf(process, from, around)) ?? around.to;
    return {
      process,
      buyer,
      from,
      to,
      leaseOverAt: points.has('lock-set') ? leaseOverAt(trace, to, traces, around) : undefined,
      answer,
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

/** The lease was ended, or somebody else got the lock before this holder had given it back. */
function leaseOverAt(
  trace: Trace,
  to: number,
  traces: readonly Trace[],
  { steps }: Surroundings,
): number | undefined {
  const set = trace.points.get('lock-set') ?? 0;
  const doneAt = trace.releasedAt ?? trace.points.get('before-delete') ?? to;
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

const GAP_ENDS: Readonly<Record<string, Struck['what']>> = {
  frozen: 'thawed',
  cut: 'joined',
};

function gapsOf(steps: readonly Step[], end: number): Gap[] {
  return steps.flatMap((step, index) => {
    if (step.kind !== 'struck' || step.process === undefined) return [];
    const { process, what, at } = step;
    const after = steps.slice(index + 1);
    const isOfIt = (other: Step): boolean => 'process' in other && other.process === process;
    switch (what) {
      case 'frozen':
      case 'cut': {
        const over = after.find(
          (other) => other.kind === 'struck' && isOfIt(other) && other.what === GAP_ENDS[what],
        );
        return { process, from: at, to: over?.at ?? end, what };
      }
      case 'blocked':
        return { process, from: at, to: after.find(isOfIt)?.at ?? end, what };
      case 'killed':
        return { process, from: at, to: end, what: 'ended' as const };
      default:
        return [];
    }
  });
}

function suspectsOf(steps: readonly Step[], end: number): Gap[] {
  return steps.flatMap((step, index) => {
    if (step.kind !== 'lock' || step.event !== 'suspect') return [];
    const over = steps
      .slice(index + 1)
      .find(
        (other) =>
          other.kind === 'lock' &&
          other.process === step.process &&
          (other.event === 'recovered' || other.event === 'lost' || other.event === 'released'),
      );
    return { process: step.process, from: step.at, to: over?.at ?? end, what: 'frozen' as const };
  });
}

function struckMarks(steps: readonly Step[]): Mark[] {
  return steps.flatMap((step): Mark | [] => {
    if (step.kind === 'lock' && (step.event === 'lost' || step.event === 'renewal-failed')) {
      return { process: step.process, at: step.at, kind: step.event, reason: step.reason };
    }
    if (step.kind !== 'struck') return [];
    switch (step.what) {
      case 'frozen':
      case 'cut':
      case 'blocked':
      case 'thawed':
      case 'joined':
        return [];
      default:
        return { process: step.process, at: step.at, kind: step.what, reason: undefined };
    }
  });
}

function answerMarks(traces: readonly Trace[]): Mark[] {
  return traces.flatMap(({ process, answer, answeredAt: at, reason }): Mark | [] => {
    if (at === undefined || (answer !== 'busy' && answer !== 'refused')) return [];
    return { process, at, kind: answer, reason };
  });
}

/** The worst of it: the lease was over, and the order wrote all the same. */
function lateMarks(traces: readonly Trace[], bars: readonly Bar[]): Mark[] {
  return bars.flatMap(({ buyer, process, leaseOverAt: over }): Mark | [] => {
    const at = traces.find((trace) => trace.buyer === buyer)?.points.get('after-write');
    if (over === undefined || at === undefined || at < over) return [];
    return { process, at, kind: 'wrote-late', reason: undefined };
  });
}

function lanesOf(
  steps: readonly Step[],
  rows: Rows,
  traces: readonly Trace[],
): Array<{ process: number; rows: number }> {
  const seen = steps.flatMap((step) =>
    'process' in step && step.process !== undefined && step.process !== 0 ? step.process : [],
  );
  return [...new Set(seen)].map((process) => {
    const own = traces.filter((trace) => trace.process === process);
    const deepest = Math.max(0, ...own.map(({ buyer }) => rows.get(buyer) ?? 0));
    return { process, rows: deepest + 1 };
  });
}
