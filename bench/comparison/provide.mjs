import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { npmCommand, npmEnvironment } from '../../scripts/npm.mjs';

const INSTALL_TIMEOUT_MS = 300_000;
/** Where a library is tried that npm refuses beside the newest Nest. */
const NEST_BEFORE = '^11';

const run = promisify(execFile);

/**
 * The newest version of a package. Installed by its tag, npm may take an older one that fits the others.
 * @param {string} name
 * @returns {Promise<string>}
 */
export async function newestOf(name) {
  return (await run(...npmCommand('view', name, 'version'))).stdout.trim();
}

/**
 * Makes an application that has Nest, ioredis and one library.
 * @param {string} folder
 * @param {Record<string, string>} dependencies
 * @param {string[]} flags of npm
 */
async function makeApp(folder, dependencies, flags = []) {
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const command = npmCommand('install', '--no-audit', '--no-fund', '--loglevel=error', ...flags);
  const env = npmEnvironment();
  await run(...command, { cwd: folder, env, timeout: INSTALL_TIMEOUT_MS });
  await cp(import.meta.dirname, folder, { recursive: true });
}

/** @param {string} nest @param {string} ioredis versions */
const application = (nest, ioredis) => ({
  '@nestjs/common': nest,
  '@nestjs/core': nest,
  '@nestjs/platform-express': nest,
  ioredis,
  'reflect-metadata': '^0.2.2',
  rxjs: '^7.8.2',
});

/**
 * @typedef {object} Apps
 * @property {string} newest the folder of an application with the newest Nest and ioredis
 * @property {string} tried of the one in which everything else is tried
 * @property {boolean} isForced whether npm installs the newest by force only
 */

/**
 * @param {string} folder
 * @param {Record<string, string>} packages
 * @param {{ nest: string, ioredis: string }} newest
 * @returns {Promise<Apps>}
 */
export async function provide(folder, packages, { nest, ioredis }) {
  const newest = join(folder, 'newest');
  const dependencies = { ...application(nest, ioredis), ...packages };
  await mkdir(folder);
  try {
    await makeApp(newest, dependencies);
    return { newest, tried: newest, isForced: false };
  } catch (error) {
    if (!String(error.stderr).includes('ERESOLVE')) throw error;
  }
  const [forced, before] = [join(folder, 'forced'), join(folder, 'before')];
  await makeApp(forced, dependencies, ['--force']);
  await makeApp(before, { ...application(NEST_BEFORE, ioredis), ...packages });
  return { newest: forced, tried: before, isForced: true };
}

/**
 * @param {string} folder of an application
 * @param {string} name of a package
 * @returns {string}
 */
export function versionIn(folder, name) {
  const manifest = join(folder, 'node_modules', name, 'package.json');
  return JSON.parse(readFileSync(manifest, 'utf8')).version.replace(/^v/, '');
}
