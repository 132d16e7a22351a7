// Runs before anything is installed: Node built-ins only.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { alone } from './alone.mjs';
import { findRedisServer } from './find-redis-server.mjs';
import { install } from './install.mjs';
import { preparePostgres } from './postgres-template.mjs';
import {
  findPrivateChromium,
  hasPrivateChromium,
  makePrivateChromium,
} from './private-chromium.mjs';
import { endLine, withProgress } from './progress.mjs';
import { runStep, stoppable } from './run-step.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** The build of the library: how, a file that exists after it, and its source files and folders. */
const LIBRARY = {
  command: ['scripts/library/build.mjs'],
  built: 'libs/redis-lock/dist/cjs/index.d.ts',
  inputs: [
    ...['libs/redis-lock/src', 'libs/redis-lock/package.json', 'libs/redis-lock/tsconfig.lib.json'],
    ...['docs/errors.md', 'README.md', 'README.zh-CN.md', 'LICENSE'],
    // The compiler and the bundler, too.
    ...['scripts/library', 'site/settings.mjs', 'tsconfig.json', 'package-lock.json'],
  ],
};

/**
 * @typedef {object} Needs
 * @property {boolean} [bench] the libraries to measure beside
 * @property {boolean} [demo] the demo, ready to run
 * @property {boolean} [examples] the examples, ready to run
 * @property {boolean} [library] the built library
 * @property {boolean} [postgres] what a private Postgres starts from
 * @property {boolean} [redis] a Redis server
 * @property {boolean} [site] what builds the site of the docs
 * @property {boolean} [web] a browser for tests
 */

/**
 * Provides what is missing, and shows slow steps on stderr. Ends the process with a message when a
 * step fails.
 * @param {Needs} needs
 */
export async function prepare(needs) {
  try {
    await stoppable(() => provide(needs));
  } catch (error) {
    const { message, exitCode } = /** @type {Error & { exitCode?: number }} */ (error);
    if (exitCode === undefined) throw error;
    endLine();
    process.stderr.write(`${message}\n`);
    process.exit(exitCode);
  }
}

/** @param {Needs} needs */
async function provide(needs) {
  // At once: npm waits for the registry, and apt for its mirror.
  await Promise.all([installAll(needs), needs.redis && findRedisServer()]);
  if (needs.web) await provideBrowser();
  if (needs.library) await buildLibrary();
  await Promise.all([
    needs.postgres && withProgress('Preparing a private Postgres', preparePostgres),
    needs.demo && buildDemo(),
    needs.examples && compileAll('the examples', ['apps', 'examples', 'libs', 'scripts']),
  ]);
}

/** @param {Needs} needs */
async function installAll({ bench, demo, site, web }) {
  await install(root, 'dependencies', { dev: !demo });
  if (web) await install(join(root, 'test', 'web'), 'a browser for tests');
  if (bench) await install(join(root, 'bench'), 'the libraries to measure beside');
  if (site) await install(join(root, 'site'), 'what builds the site');
}

async function provideBrowser() {
  if (findPrivateChromium() !== null || !hasPrivateChromium) return;
  await withProgress('Unpacking a browser into .cache', makePrivateChromium);
}

/** Builds the library, unless it is newer than all that it is made of. */
function buildLibrary() {
  const { command, built, inputs } = LIBRARY;
  const output = join(root, built);
  const isBuilt = () => {
    const newest = Math.max(...inputs.flatMap(filesOf).map((file) => statSync(file).mtimeMs));
    return existsSync(output) && statSync(output).mtimeMs >= newest;
  };
  return alone(root, isBuilt, async () => {
    try {
      await runStep('Building redis-lock', process.execPath, command, { cwd: root });
    } catch (error) {
      // The output of a compiler with errors must not count as new the next time.
      rmSync(output, { force: true });
      throw error;
    }
  });
}

/**
 * Without a check of the types, which takes longer than all the rest.
 * @param {string} name
 * @param {string[]} sources
 */
async function compileAll(name, sources) {
  const { compile } = await import('./compile.mjs');
  await withProgress(`Building ${name}`, () => compile(sources));
}

/** The page of the demo has the playground. */
async function buildDemo() {
  await compileAll('seckill-demo', ['apps', 'libs', 'scripts']);
  const { bundlePlayground } = await import('./playground.mjs');
  await withProgress('Bundling the playground', bundlePlayground);
}

/**
 * With the folders themselves, which are newer when something was taken out of them.
 * @param {string} input
 */
function filesOf(input) {
  const path = join(root, input);
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return [path, ...names.map((name) => join(path, name))];
}
