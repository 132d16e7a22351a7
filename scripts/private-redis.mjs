// Runs before anything is installed: Node built-ins only.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyFolder, makeCopy } from './private-copy.mjs';

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT_MS = 180_000;
const COPY = copyFolder('redis-server');

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
  await makeCopy(
    COPY,
    async (root, work) => {
      await download(work);
      await unpack(work, root);
    },
    async () => (await findPrivateRedis()) !== null,
  );
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

/**
 * @param {string} work
 * @param {string} root
 */
async function unpack(work, root) {
  const archives = join(work, 'cache/archives');
  await mkdir(root);
  for (const file of await readdir(archives)) {
    if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, file), root]);
  }
  // One binary serves redis-server, redis-check-rdb and redis-check-aof; its name decides.
  await symlink('usr/bin/redis-check-rdb', join(root, 'redis-server'));
  const env = { ...process.env, LD_LIBRARY_PATH: (await libraryFolders(root)).join(':') };
  await run(join(root, 'redis-server'), ['--version'], { env });
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
