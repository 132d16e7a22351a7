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
  const beatAt = statSync(mark, { throwIfNoEntry: false })?.mtimeMs;
  if (beatAt === undefined) {
    mkdirSync(dirname(mark), { recursive: true });
    return make(mark);
  }
  if (Date.now() - beatAt <= DEAD_AFTER_MS) return false;
  // One of those who see the same last beat gets the mark, and this is its first beat.
  return make(join(mark, String(beatAt)));
}

/** @param {string} folder false if another process has made it, or has removed the one around it */
function make(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw error;
  }
}
