// Runs before anything is installed: Node built-ins only.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ABANDONED_AFTER_MS = 10 * 60_000;

/** A build copies this file into `dist`, so the project is found by its lock file. */
function projectRoot() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package-lock.json'))) {
    const parent = dirname(folder);
    if (parent === folder) return process.cwd();
    folder = parent;
  }
  return folder;
}

/**
 * The folder of a program that the project keeps for itself. It is not in node_modules, which
 * `npm ci` removes.
 * @param {string} program
 * @param {string} copy the system, or the version
 */
export function copyFolder(program, copy = `${process.platform}-${process.arch}`) {
  return join(projectRoot(), '.cache', program, copy);
}

/**
 * Makes a copy that is there as a whole or not at all.
 * @param {string} copy from `copyFolder`
 * @param {(root: string, work: string) => Promise<void>} fill fills the folder `root`, which does
 *   not exist yet; all of `work` is removed afterwards
 * @param {() => Promise<boolean>} works whether the copy that is in place can be used
 */
export async function makeCopy(copy, fill, works) {
  const folder = dirname(copy);
  await mkdir(folder, { recursive: true });
  await removeAbandoned(folder);
  const work = await mkdtemp(join(folder, '.making-'));
  const root = join(work, 'root');
  try {
    await fill(root, work);
    await publish(root, copy, join(work, 'broken'), works);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * The first rename wins, and the other processes use that copy. A copy that does not work is
 * replaced.
 * @param {string} root
 * @param {string} copy
 * @param {string} broken
 * @param {() => Promise<boolean>} works
 */
async function publish(root, copy, broken, works) {
  try {
    await rename(root, copy);
  } catch {
    if (await works()) return;
    await rename(copy, broken);
    await rename(root, copy);
  }
}

/** @param {string} folder */
async function removeAbandoned(folder) {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('.making-')) continue;
    const work = join(folder, name);
    const madeAt = await stat(work).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (Date.now() - madeAt > ABANDONED_AFTER_MS) await rm(work, { recursive: true, force: true });
  }
}
