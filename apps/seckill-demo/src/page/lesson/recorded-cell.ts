import type { Step } from '../../arena/step.js';
import { RECORDED_RUN } from '../page-html.js';
import { recordedSteps } from '../sources/recording.js';
import { StepLog } from '../step-log.js';
import { twoOfMany } from './two-of-many.js';

/** Resolves with the recorded steps of a cell. Rejects if the recording cannot be read. */
export async function recordedCell(cell: string): Promise<readonly Step[]> {
  const log = new StepLog();
  for (const step of await recordedSteps(RECORDED_RUN)) log.add(step);
  return twoOfMany(log.of(cell));
}
