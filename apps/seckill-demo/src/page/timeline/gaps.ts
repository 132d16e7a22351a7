import type { Step, Struck } from '../../arena/step.js';

/** A time in which a process did nothing, or sent nothing. */
export interface Gap {
  readonly process: number;
  readonly from: number;
  readonly to: number;
  readonly what: 'frozen' | 'cut' | 'blocked' | 'ended';
}

const GAP_ENDS: Readonly<Record<string, Struck['what']>> = {
  frozen: 'thawed',
  cut: 'joined',
  blocked: 'unblocked',
};

export function gapsOf(steps: readonly Step[], end: number): Gap[] {
  return steps.flatMap((step, index) => {
    if (step.kind !== 'struck' || step.process === undefined) return [];
    const { process, what, at } = step;
    const after = steps.slice(index + 1);
    const isOfIt = (other: Step): boolean => 'process' in other && other.process === process;
    switch (what) {
      case 'frozen':
      case 'cut':
      case 'blocked': {
        const over = after.find(
          (other) => other.kind === 'struck' && isOfIt(other) && other.what === GAP_ENDS[what],
        );
        return { process, from: at, to: over?.at ?? end, what };
      }
      case 'killed':
        return { process, from: at, to: end, what: 'ended' as const };
      default:
        return [];
    }
  });
}

/** While the library suspected its hold. */
export function suspectsOf(steps: readonly Step[], end: number): Gap[] {
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
