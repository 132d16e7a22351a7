// Runs before anything is installed: Node built-ins only.
import { existsSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { alone } from './alone.mjs';
import { npmCommand, npmEnvironment } from './npm.mjs';
import { runStep } from './run-step.mjs';

/**
 * Installs the packages of a folder, unless they are there as its lock file has them.
 * @param {string} folder
 * @param {string} what
 * @param {{ dev?: boolean }} [options] without `dev`, it leaves the dev dependencies out, unless
 *   they are there
 */
export function install(folder, what, { dev = true } = {}) {
  const isInstalled = () => {
    const { lock, isCurrent, all } = stateOf(folder);
    return isCurrent && (all || !dev || !hasDev(lock));
  };
  return alone(folder, isInstalled, () => runNpm(folder, what, dev));
}

/** @param {string} folder */
function stateOf(folder) {
  const lock = join(folder, 'package-lock.json');
  const record = join(folder, 'node_modules', '.package-lock.json');
  const installedAt = timeOf(record);
  return { lock, record, installedAt, isCurrent: installedAt >= timeOf(lock), all: hasDev(record) };
}

/**
 * @param {string} folder
 * @param {string} what
 * @param {boolean} dev
 */
async function runNpm(folder, what, dev) {
  const { lock, record, installedAt, isCurrent, all } = stateOf(folder);
  /** @type {unknown} */
  const locked = JSON.parse(readFileSync(lock, 'utf8'));
  const { packages } = /** @type {{ packages: object }} */ (locked);
  const names = Object.keys(packages).filter((name) => name !== '');
  const folders = names.map((name) => join(folder, name));
  const omitted = all || dev ? [] : ['--omit=dev'];
  // `npm ci` would remove the files of a demo that runs. `npm install` keeps all of them only while its
  // record is newer than each folder beside it, and node_modules/.cache is newer.
  if (isCurrent) utimesSync(record, new Date(), new Date());
  const way = isCurrent ? ['install', '--no-save'] : ['ci', ...omitted];
  const [command, args] = npmCommand(...way, '--loglevel=error');
  await runStep(`Installing ${what}`, command, args, {
    cwd: folder,
    env: npmEnvironment(),
    // npm tells nothing. `npm ci` first removes what was there, its record included; then it makes
    // the folders of all packages that this system needs, and fills them.
    measure: () => {
      if (!isCurrent && timeOf(record) === installedAt && installedAt !== 0) return undefined;
      const made = folders.filter((name) => existsSync(name));
      const done = made.filter((name) => existsSync(join(name, 'package.json'))).length;
      return made.length === 0 ? undefined : { done, total: made.length, unit: 'packages' };
    },
  });
}

/** @param {string} file a lock file, or npm's record of what it has installed */
function hasDev(file) {
  return existsSync(file) && readFileSync(file, 'utf8').includes('"dev": true');
}

/** @param {string} file */
function timeOf(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
