import type { Step } from '../../arena/step.js';
import type { Wait } from './bar.js';

/** The waiters of a process, if they are too many for a line each. */
export interface Crowd {
  readonly process: number;
  readonly from: number;
  readonly to: number;
  /** Their highest number at once. */
  readonly most: number;
}

interface Change {
  readonly process: number;
  readonly at: number;
  /** The number of waiters from then on. */
  readonly waiting: number;
}

/** Uses the counts of the processes; without them, the orders that came to the doors. */
export function crowdsIn(steps: readonly Step[], waits: readonly Wait[], end: number): Crowd[] {
  const counted = steps.some(({ kind }) => kind === 'waiters');
  return crowdsOf(counted ? countedIn(steps) : changesBy(waits), end);
}

function countedIn(steps: readonly Step[]): Change[] {
  return steps.flatMap((step): Change | [] => {
    if (step.kind === 'waiters') return step;
    const isOver = step.kind === 'struck' && step.what === 'killed' && step.process !== undefined;
    return isOver ? { process: step.process, at: step.at, waiting: 0 } : [];
  });
}

function changesBy(waits: readonly Wait[]): Change[] {
  const edges = waits
    .filter(({ from, to }) => to > from)
    .flatMap(({ process, from, to }) => [
      { process, at: from, change: 1 },
      { process, at: to, change: -1 },
    ])
    .sort((a, b) => a.at - b.at || a.change - b.change);
  const waiting = new Map<number, number>();
  return edges.map(({ process, at, change }) => {
    const now = (waiting.get(process) ?? 0) + change;
    waiting.set(process, now);
    return { process, at, waiting: now };
  });
}

function crowdsOf(changes: readonly Change[], end: number): Crowd[] {
  const open = new Map<number, Omit<Crowd, 'to'>>();
  const crowds: Crowd[] = [];
  for (const { process, at, waiting } of changes) {
    const crowd = open.get(process);
    if (waiting > 0) {
      const { from = at, most = 0 } = crowd ?? {};
      open.set(process, { process, from, most: Math.max(most, waiting) });
    } else if (crowd !== undefined) {
      crowds.push({ ...crowd, to: at });
      open.delete(process);
    }
  }
  return [...crowds, ...[...open.values()].map((crowd) => ({ ...crowd, to: end }))];
}
