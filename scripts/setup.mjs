// Runs before anything is installed: Node built-ins only.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRedisServer } from './find-redis-server.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const say = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);

function installDependencies() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  const lock = statSync(join(root, 'package-lock.json')).mtimeMs;
  if (existsSync(installed) && statSync(installed).mtimeMs >= lock) return;
  say('Installing dependencies (about 20 s) …');
  // Run by npm, its own script is known and needs no shell; on Windows `npm` alone is not a program.
  const npm = process.env.npm_execpath ?? '';
  const [command, args] = npm.endsWith('npm-cli.js') ? [process.execPath, [npm]] : ['npm', []];
  const { status, stdout, stderr } = spawnSync(command, [...args, 'ci', '--loglevel=error'], {
    cwd: root,
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

function buildDemo() {
  say('Building the demo …');
  const nest = join(root, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [nest, 'build', 'seckill-demo'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status === 0) return;
  say(`${stdout}${stderr}`.trim());
  process.exit(status ?? 1);
}

const flags = process.argv.slice(2);
const forDemo = flags.includes('--demo');
installDependencies();
if (flags.includes('--redis') || (forDemo && !process.env.REDIS_URL)) await provideRedis();
if (forDemo) buildDemo();
