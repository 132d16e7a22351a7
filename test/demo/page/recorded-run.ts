import { readFileSync } from 'node:fs';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { RECORDING } from '../../../scripts/arena/recording.mjs';

/** The run that the repository keeps, as it was played. */
export function recordedRun(): Step[] {
  return readFileSync(RECORDING, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Step);
}
