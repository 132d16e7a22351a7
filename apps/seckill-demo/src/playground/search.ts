import { Random } from '../../../../libs/world/src/random.js';
import type { Experiment, Fault } from './experiment.js';
import { MOST_FAULTS, seedsLater, struckAfter } from './experiment.js';
import { run } from './run.js';
import type { Run } from './run.js';

export interface SearchOptions {
  /** How many seeds at most. */
  readonly tries: number;
  /** The faults to try, beside those of the experiment. None: only the seeds. */
  readonly kinds: readonly Fault['kind'][];
  /** Called after each try. */
  readonly onTry?: (tried: number) => void;
  readonly signal?: AbortSignal;
}

export interface Found {
  readonly tried: number;
  /** The first run that broke. */
  readonly broken?: Run;
}

/**
 * Tries the next seeds of an experiment until a run breaks. Each seed runs as it is first. Then it
 * runs with one more fault: a process is killed or frozen right after one of its steps.
 */
export async function search(
  experiment: Experiment,
  { tries, kinds, onTry, signal }: SearchOptions,
): Promise<Found> {
  let tried = 0;
  while (tried < tries && signal?.aborted !== true) {
    const given = await run(seedsLater(experiment, tried));
    const takesFault = kinds.length > 0 && experiment.faults.length < MOST_FAULTS;
    const isStruck = takesFault && given.verdict === 'safe';
    const broken = isStruck ? await run(struck(given, kinds)) : given;
    tried += 1;
    onTry?.(tried);
    if (broken.verdict !== 'safe') return { tried, broken };
  }
  return { tried };
}

/** The same experiment with a fault in a process that does something at that moment. */
function struck({ experiment, steps }: Run, kinds: SearchOptions['kinds']): Experiment {
  const random = new Random(`fault ${experiment.seed}`);
  const moments = steps.filter((step) => step.kind === 'passed');
  const { at, process } = random.pick(moments);
  const kind = random.pick(kinds);
  const ms = Math.round(experiment.leaseMs * (0.8 + 2 * random.next()));
  const late = random.next() * (0.5 + experiment.latencyMs);
  return struckAfter(experiment, at + late, { kind, process, ms });
}
