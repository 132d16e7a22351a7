import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @typedef {import('../../apps/seckill-demo/src/arena/step.js').Step} Step */

/** The recorded run of the repository: one of each cell. */
export const RECORDING = fileURLToPath(
  new URL('../../apps/seckill-demo/recordings/run.ndjson', import.meta.url),
);

/**
 * @param {string} file A recorded run.
 * @returns {Step[]}
 */
export function stepsIn(file) {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    /** @type {unknown} */
    const step = JSON.parse(line);
    return /** @type {Step} */ (step);
  });
}
