import { planOf, type Limits, type Plan } from './plan.js';
import { simulate, type Verdict, type Watching } from './simulation.js';

/** More tries find little. */
const MOST_TRIES = 80;

/** The smallest plan found that breaks the same promise: fewer faults, processes, callers, keys. */
export async function shrink(failed: Verdict, watching?: Watching): Promise<Verdict> {
  let best = failed;
  let tries = 0;
  for (let isSmaller = true; isSmaller && tries < MOST_TRIES;) {
    isSmaller = false;
    for (const limits of smaller(best.plan)) {
      tries += 1;
      const { primitive, seed } = best.plan;
      const verdict = await simulate(planOf(primitive, seed, limits), watching);
      if (verdict.violation?.promise !== failed.violation?.promise) continue;
      best = verdict;
      isSmaller = true;
      break;
    }
  }
  return best;
}

/** The larger steps come first. */
function* smaller(plan: Plan): Generator<Limits> {
  const { level, sections, processes, callers, keys, faults, threads } = plan;
  const same = { level, sections, processes, callers, keys, faults, threads };
  if (faults.length > 3) {
    const half = Math.ceil(faults.length / 2);
    yield { ...same, faults: faults.slice(0, half) };
    yield { ...same, faults: faults.slice(half) };
  }
  for (const fault of faults) yield { ...same, faults: faults.filter((one) => one !== fault) };
  if (keys > 1) yield { ...same, keys: 1 };
  if (processes > 1) yield { ...same, processes: processes - 1 };
  if (callers > 2) yield { ...same, callers: Math.ceil(callers / 2) };
  if (callers > 1) yield { ...same, callers: callers - 1 };
  if (threads > 0) yield { ...same, threads: threads - 1 };
  if (sections > 10) yield { ...same, sections: Math.ceil(sections / 2) };
}
