import { open } from 'node:fs/promises';
import type { Steps } from './steps.js';

/** The file cannot be written. */
export class RecordingError extends Error {}

/**
 * Writes all steps to a file, one per line, until the end; the page replays the file. Resolves when
 * the file is open, with a promise of its end. Rejects if it cannot be opened.
 */
export async function record(
  steps: Steps,
  file: string,
): Promise<{ readonly ended: Promise<void> }> {
  const out = await open(file, 'w').catch((error: unknown) => {
    throw new RecordingError((error as Error).message);
  });
  const write = async (): Promise<void> => {
    for await (const { steps: batch } of steps.batches()) {
      await out.write(batch.map((step) => `${JSON.stringify(step)}\n`).join(''));
    }
    await out.close();
  };
  return { ended: write() };
}
