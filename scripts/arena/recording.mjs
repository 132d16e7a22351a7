import { fileURLToPath } from 'node:url';

/** The recorded run of the repository: one of each cell. */
export const RECORDING = fileURLToPath(
  new URL('../../apps/seckill-demo/recordings/run.ndjson', import.meta.url),
);
