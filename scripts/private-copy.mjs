// Runs before anything is installed: Node built-ins only.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ABANDONED_AFTER_MS = 10 * 60_000;
const SYSTEM = `${process.platform}-${process.arch}`;

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
 * @param {string} [version]
 */
export function copyFolder(program, version) {
  const copy = version === undefined ? SYSTEM : `${SYSTEM}-${version}`;
  return join(projectRoot(), '.cache', program, copy);
}

/**
 * Makes a copy that is there as a whole or not at all, in place of the other versions.
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
    await removeOthers(copy);
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

/**
 * Another system may share the project's folder. Its copies stay.
 * @param {string} copy
 */
async function removeOthers(copy) {
  const folder = dirname(copy);
  for (const name of await readdir(folder)) {
    const isOurs = name === SYSTEM || name.startsWith(`${SYSTEM}-`);
    if (!isOurs || name === basename(copy)) continue;
    // One of another user stays, and is in the way of none.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
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
