// Runs before anything is installed: Node built-ins only.
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { withProgress } from './progress.mjs';

const BEAT_MS = 1_000;
const POLL_MS = 100;
/** A process that is killed leaves its mark. */
const DEAD_AFTER_MS = 10_000;

/**
 * Does the work, unless it is done, while no other command does so in the folder. Two at once remove
 * the files of each other, as `npm ci` does.
 * @param {string} folder
 * @param {() => boolean} isDone
 * @param {() => Promise<void>} work
 */
export async function alone(folder, isDone, work) {
  if (isDone()) return;
  const mark = join(folder, '.cache', 'busy');
  mkdirSync(dirname(mark), { recursive: true });
  if (!take(mark)) await withProgress('Waiting for another command', () => taken(mark));
  const free = () => {
    rmSync(mark, { recursive: true, force: true });
  };
  const beat = () => utimes(mark, new Date(), new Date()).catch(() => undefined);
  const beats = setInterval(() => void beat(), BEAT_MS);
  process.once('exit', free);
  try {
    if (!isDone()) await work();
  } finally {
    clearInterval(beats);
    process.off('exit', free);
    free();
  }
}

/** @param {string} mark */
async function taken(mark) {
  while (!take(mark)) await wait(POLL_MS);
}

/** @param {string} mark */
function take(mark) {
  const beatAt = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  if (Date.now() - beatAt > DEAD_AFTER_MS) rmSync(mark, { recursive: true, force: true });
  // It makes no folder where another process has made one.
  try {
    mkdirSync(mark);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}
