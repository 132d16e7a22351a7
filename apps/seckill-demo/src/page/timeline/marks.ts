import type { Step, Struck } from '../../arena/step.js';
import type { Bar } from './bar.js';
import type { Trace } from './trace.js';

export type MarkKind =
  | Exclude<Struck['what'], 'frozen' | 'cut' | 'blocked' | 'thawed' | 'joined' | 'unblocked'>
  | 'wrote-late'
  | 'busy'
  | 'refused'
  | 'lost'
  | 'renewal-failed';

/** An event with a word. */
export interface Mark {
  /** Undefined: an event of the lock, or of Redis. */
  readonly process: number | undefined;
  readonly at: number;
  readonly kind: MarkKind;
  readonly reason: string | undefined;
}

/** The events of processes, the lock, and Redis. */
export function struckMarks(steps: readonly Step[]): Mark[] {
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
      case 'unblocked':
        return [];
      default:
        return { process: step.process, at: step.at, kind: step.what, reason: undefined };
    }
  });
}

/** Buyers that left without a piece, and refused writes. */
export function answerMarks(traces: readonly Trace[]): Mark[] {
  return traces.flatMap(({ process, answer, answeredAt: at, reason }): Mark | [] => {
    if (at === undefined || (answer !== 'busy' && answer !== 'refused')) return [];
    return { process, at, kind: isOfToken(reason) ? 'stale-refused' : answer, reason };
  });
}

function isOfToken(reason: string | undefined): boolean {
  return reason?.startsWith('token ') === true;
}

/** The answer to a stale write contains more than the arena's step. */
export function withoutEchoes(marks: readonly Mark[]): Mark[] {
  const told = marks.filter(({ reason }) => isOfToken(reason)).map(({ process }) => process);
  return marks.filter(
    ({ kind, reason, process }) =>
      kind !== 'stale-refused' || isOfToken(reason) || !told.includes(process),
  );
}

/** The worst case: the lease was over, and the order still wrote. */
export function lateMarks(traces: readonly Trace[], bars: readonly Bar[]): Mark[] {
  return bars.flatMap(({ buyer, process, leaseOverAt: over }): Mark | [] => {
    const at = traces.find((trace) => trace.buyer === buyer)?.points.get('after-write');
    if (over === undefined || at === undefined || at < over) return [];
    return { process, at, kind: 'wrote-late', reason: undefined };
  });
}

/** Tokens are long, and tokens of the same minutes begin alike. */
export function shortTokens(reason: string): string {
  const [, late = '', seen = ''] = /^token (\d+) < (\d+)$/.exec(reason) ?? [];
  let alike = 0;
  while (alike < late.length && late[alike] === seen[alike]) alike += 1;
  if (late.length !== seen.length || alike < 3) return reason;
  return `token …${late.slice(alike)} < …${seen.slice(alike)}`;
}
