import type { Step, Struck } from '../../arena/step.js';
import type { Bar } from './timeline.js';
import type { Trace } from './trace.js';

export type MarkKind =
  | Exclude<Struck['what'], 'frozen' | 'cut' | 'blocked' | 'thawed' | 'joined' | 'unblocked'>
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

/** What befell processes, the lock, and Redis. */
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

/** Those who went away without a piece, or were kept from writing. */
export function answerMarks(traces: readonly Trace[]): Mark[] {
  return traces.flatMap(({ process, answer, answeredAt: at, reason }): Mark | [] => {
    if (at === undefined || (answer !== 'busy' && answer !== 'refused')) return [];
    return { process, at, kind: answer, reason };
  });
}

/** The worst of it: the lease was over, and the order wrote all the same. */
export function lateMarks(traces: readonly Trace[], bars: readonly Bar[]): Mark[] {
  return bars.flatMap(({ buyer, process, leaseOverAt: over }): Mark | [] => {
    const at = traces.find((trace) => trace.buyer === buyer)?.points.get('after-write');
    if (over === undefined || at === undefined || at < over) return [];
    return { process, at, kind: 'wrote-late', reason: undefined };
  });
}
