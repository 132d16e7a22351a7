import type { Step, Struck } from '../../arena/step.js';

export type Condition = 'up' | 'frozen' | 'cut' | 'blocked' | 'ended';

export interface ProcessState {
  readonly process: number;
  readonly condition: Condition;
  /** The number of calls in this process that wait for the lock of the product. */
  readonly waiting: number;
}

const CONDITION_AFTER: Readonly<Partial<Record<Struck['what'], Condition>>> = {
  frozen: 'frozen',
  thawed: 'up',
  cut: 'cut',
  joined: 'up',
  blocked: 'blocked',
  unblocked: 'up',
  killed: 'ended',
};

export function processesAfter(
  processes: readonly ProcessState[],
  step: Step,
): readonly ProcessState[] {
  switch (step.kind) {
    case 'process':
      return step.state === 'started'
        ? started(processes, step.process)
        : withProcess(processes, step.process, GONE);
    case 'struck': {
      const condition = CONDITION_AFTER[step.what];
      if (step.process === undefined || condition === undefined) return processes;
      return withProcess(processes, step.process, condition === 'ended' ? GONE : { condition });
    }
    case 'waiters':
      return withProcess(processes, step.process, { waiting: step.waiting });
    default:
      return processes;
  }
}

const GONE = { condition: 'ended', waiting: 0 } as const;

function withProcess(
  processes: readonly ProcessState[],
  process: number,
  change: Partial<ProcessState>,
): readonly ProcessState[] {
  const place = processes.findIndex((other) => other.process === process);
  const known = processes[place] ?? { process, condition: 'up', waiting: 0 };
  const changed = { ...known, ...change };
  return place < 0 ? [...processes, changed] : processes.with(place, changed);
}

/** A new process takes the position of an ended one, so that the others keep theirs. */
function started(processes: readonly ProcessState[], process: number): readonly ProcessState[] {
  const fresh = { process, condition: 'up', waiting: 0 } as const;
  const place = processes.findIndex(
    (other) => other.process === process || other.condition === 'ended',
  );
  return place < 0 ? [...processes, fresh] : processes.with(place, fresh);
}
