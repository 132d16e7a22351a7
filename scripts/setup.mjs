// Runs before anything is installed: Node built-ins only.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRedisServer } from './find-redis-server.mjs';

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
  // Run by npm, its own script is known and needs no shell; on Windows `npm` alone is not a program.
  const npm = process.env.npm_execpath ?? '';
  const [command, args] = npm.endsWith('npm-cli.js') ? [process.execPath, [npm]] : ['npm', []];
  const { status, stdout, stderr } = spawnSync(command, [...args, 'ci', '--loglevel=error'], {
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

/**
 * @param {string} project
 * @returns {boolean} whether it was built
 */
function build(project) {
  say(`Building ${project} …`);
  const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [nest, 'build', project], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status === 0) return true;
  say(`${stdout}${stderr}`.trim());
  return false;
}

/** Unless it is newer than all that it is made of. */
function buildLibrary() {
  const library = join(root, 'libs', 'redis-lock');
  const built = join(library, 'dist', 'esm', 'index.js');
  const sources = readdirSync(join(library, 'src'), { recursive: true, encoding: 'utf8' });
  const inputs = [
    ...sources.map((name) => join(library, 'src', name)),
    ...[join(library, 'tsconfig.lib.json'), join(root, 'tsconfig.json')],
  ];
  const newest = Math.max(...inputs.map((file) => statSync(file).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  if (build('redis-lock')) return;
  // What the compiler wrote in spite of its errors is not taken for new the next time.
  rmSync(built, { force: true });
  process.exit(1);
}

const flags = process.argv.slice(2);
const forDemo = flags.includes('--demo');
const forBench = flags.includes('--bench');
install(root, 'dependencies (about 20 s)');
if (forBench) install(join(root, 'bench'), 'the libraries to measure beside (about 5 s)');
const redisNeeded = flags.includes('--redis') || forBench || (forDemo && !process.env.REDIS_URL);
if (redisNeeded) await provideRedis();
if (forBench) buildLibrary();
if (forDemo && !build('seckill-demo')) process.exit(1);
