import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Steps } from './steps.js';

/** Writes all steps into a file, one a line, until there are no more; the page replays it. */
export async function record(steps: Steps, file: string): Promise<void> {
  const out = createWriteStream(file);
  for await (const { steps: batch } of steps.batches()) {
    out.write(batch.map((step) => `${JSON.stringify(step)}\n`).join(''));
  }
  out.end();
  await finished(out);
}
