import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { RECORDING, stepsIn } from '../../../scripts/arena/recording.mjs';

/** The run that the repository keeps, as it was played. */
export function recordedRun(): Step[] {
  return stepsIn(RECORDING);
}
