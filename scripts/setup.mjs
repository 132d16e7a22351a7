// Runs before anything is installed: Node built-ins only.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRedisServer } from './find-redis-server.mjs';
import { npmCommand } from './npm.mjs';
import {
  findPrivateChromium,
  hasPrivateChromium,
  makePrivateChromium,
} from './private-chromium.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const say = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);

/**
 * @param {string} folder with a lock file of its own
 * @param {string} what is said to be installed
 */
function install(folder, what) {
  const installed = join(folder, 'node_modules', '.package-lock.json');
  const lock = statSync(join(folder, 'package-lock.json')).mtimeMs;
  if (existsSync(installed) && statSync(installed).mtimeMs >= lock) return;
  say(`Installing ${what} …`);
  const { status, stdout, stderr } = spawnSync(...npmCommand('ci', '--loglevel=error'), {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status === 0) return;
  say(`${stdout}${stderr}`.trim());
  process.exit(status ?? 1);
}

async function provideRedis() {
  try {
    await findRedisServer(say);
  } catch (error) {
    const { message, exitCode } = /** @type {Error & { exitCode?: number }} */ (error);
    say(message);
    process.exit(exitCode ?? 1);
  }
}

async function provideBrowser() {
  if (findPrivateChromium() !== null || !hasPrivateChromium) return;
  say('Unpacking a browser into node_modules/.cache (about 2 s) …');
  await makePrivateChromium();
}

/** The builds: how, a file that exists after each, and its source files and folders. */
const LIBRARY = {
  project: 'redis-lock',
  command: ['scripts/library/build.mjs'],
  built: 'libs/redis-lock/dist/cjs/index.d.ts',
  inputs: [
    ...['libs/redis-lock/src', 'libs/redis-lock/tsconfig.lib.json', 'tsconfig.json'],
    ...['docs', 'README.md', 'README.zh-CN.md', 'LICENSE', 'scripts/library'],
  ],
};
const DEMO = {
  project: 'seckill-demo',
  command: ['node_modules/@nestjs/cli/bin/nest.js', 'build', 'seckill-demo'],
  built: 'dist/apps/seckill-demo/apps/seckill-demo/src/demo.js',
  inputs: [
    ...['apps/seckill-demo/src', 'libs/redis-lock/src', 'scripts'],
    ...['apps/seckill-demo/tsconfig.app.json', 'tsconfig.json', 'nest-cli.json'],
  ],
};

/**
 * Builds it, unless it is newer than all that it is made of.
 * @param {typeof LIBRARY} what
 */
function build({ project, command, built, inputs }) {
  const output = join(root, built);
  const newest = Math.max(...inputs.flatMap(filesOf).map((file) => statSync(file).mtimeMs));
  if (existsSync(output) && statSync(output).mtimeMs >= newest) return;
  say(`Building ${project} …`);
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: root,
    encoding: 'utf8',
  });
  if (status === 0) return;
  say(`${stdout}${stderr}`.trim());
  // The output of a compiler with errors must not count as new the next time.
  rmSync(output, { force: true });
  process.exit(1);
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

const flags = process.argv.slice(2);
const forDemo = flags.includes('--demo');
const forBench = flags.includes('--bench');
install(root, 'dependencies (about 20 s)');
if (flags.includes('--web')) install(join(root, 'test', 'web'), 'a browser for tests (about 5 s)');
if (forBench) install(join(root, 'bench'), 'the libraries to measure beside (about 5 s)');
const redisNeeded = flags.includes('--redis') || forBench || (forDemo && !process.env.REDIS_URL);
if (redisNeeded) await provideRedis();
if (flags.includes('--web')) await provideBrowser();
if (forBench || flags.includes('--library')) build(LIBRARY);
if (forDemo) build(DEMO);
