// Runs before anything is installed: Node built-ins only.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ABANDONED_AFTER_MS = 10 * 60_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** A build copies this file into `dist`, so the project is found by its lock file. */
export function projectRoot() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package-lock.json'))) {
    const parent = dirname(folder);
    if (parent === folder) return process.cwd();
    folder = parent;
  }
  return folder;
}

const CACHE = join(projectRoot(), 'node_modules', '.cache', 'redis-server');
const COPY = join(CACHE, `${process.platform}-${process.arch}`);

/**
 * The private copy, if there is one that runs on this system.
 * @returns {Promise<{ command: string, env: Record<string, string> } | null>}
 */
export async function findPrivateRedis() {
  const command = join(COPY, 'redis-server');
  if (!existsSync(command)) return null;
  const env = { LD_LIBRARY_PATH: (await libraryFolders(COPY)).join(':') };
  try {
    await run(command, ['--version'], { env: { ...process.env, ...env } });
    return { command, env };
  } catch {
    return null;
  }
}

export async function canMakePrivateRedis() {
  return process.platform === 'linux' && (await canRun('apt-get')) && (await canRun('dpkg-deb'));
}

/**
 * Makes the private copy from the packages of Debian or Ubuntu. It needs no root, and leaves the
 * state of the system's apt alone.
 */
export async function makePrivateRedis() {
  await mkdir(CACHE, { recursive: true });
  await removeAbandoned();
  const work = await mkdtemp(join(CACHE, '.making-'));
  try {
    await download(work);
    await unpack(work);
    await publish(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** @param {string} work */
async function download(work) {
  await mkdir(join(work, 'state/lists/partial'), { recursive: true });
  await mkdir(join(work, 'cache/archives/partial'), { recursive: true });
  const config = join(work, 'apt.conf');
  // The system's hooks are cleared because they would write to the system's own apt folders.
  await writeFile(
    config,
    `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::State "${work}/state/";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "${work}/cache/";
APT::Sandbox::User "root";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Acquire::Retries "2";
Debug::NoLocking "true";
`,
  );
  /** @param {string[]} args */
  const apt = (...args) =>
    run('apt-get', ['-c', config, '-qq', ...args], {
      timeout: DOWNLOAD_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    });
  await apt('update');
  // redis-tools and not redis-server: only the former lacks a service, and they hold one binary.
  // "install --download-only" also fetches the libraries that this system does not have yet.
  await apt(
    ...['install', '--yes', '--download-only', '--reinstall', '--no-install-recommends'],
    'redis-tools',
  );
}

/** @param {string} work */
async function unpack(work) {
  const archives = join(work, 'cache/archives');
  const root = join(work, 'root');
  await mkdir(root);
  for (const file of await readdir(archives)) {
    if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, file), root]);
  }
  // One binary serves redis-server, redis-check-rdb and redis-check-aof; its name decides.
  await symlink('usr/bin/redis-check-rdb', join(root, 'redis-server'));
  const env = { ...process.env, LD_LIBRARY_PATH: (await libraryFolders(root)).join(':') };
  await run(join(root, 'redis-server'), ['--version'], { env });
}

/**
 * The first rename wins, and the other processes use that copy. A copy that does not run is
 * replaced.
 * @param {string} work
 */
async function publish(work) {
  const root = join(work, 'root');
  try {
    await rename(root, COPY);
  } catch {
    if (await findPrivateRedis()) return;
    await rename(COPY, join(work, 'broken'));
    await rename(root, COPY);
  }
}

async function removeAbandoned() {
  for (const name of await readdir(CACHE)) {
    if (!name.startsWith('.making-')) continue;
    const folder = join(CACHE, name);
    const madeAt = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (Date.now() - madeAt > ABANDONED_AFTER_MS)
      await rm(folder, { recursive: true, force: true });
  }
}

/** @param {string} root */
async function libraryFolders(root) {
  const folders = [];
  for (const base of [join(root, 'usr/lib'), join(root, 'lib')]) {
    const entries = await readdir(base, { withFileTypes: true }).catch(() => []);
    folders.push(base);
    for (const entry of entries) if (entry.isDirectory()) folders.push(join(base, entry.name));
  }
  return folders;
}

/** @param {string} command */
async function canRun(command) {
  return run(command, ['--version']).then(
    () => true,
    () => false,
  );
}
