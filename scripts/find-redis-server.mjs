// Runs before anything is installed: Node built-ins only.
import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { canMakePrivateRedis, findPrivateRedis, makePrivateRedis } from './private-redis.mjs';
import { withProgress } from './progress.mjs';

const NAMES = ['redis-server', 'valkey-server', 'keydb-server'];

/**
 * @typedef {object} RedisBinary
 * @property {string} command
 * @property {Record<string, string>} env what it needs beside the variables of this process
 * @property {'path' | 'private'} source
 */

/** No Redis server, and no way to get one; `exitCode` is EX_UNAVAILABLE of sysexits.h. */
export class NoRedisServerError extends Error {
  exitCode = 69;
}

/** @type {Promise<RedisBinary> | undefined} */
let found;

/**
 * A Redis server on the PATH, or the private copy under .cache, made if need be.
 * @returns {Promise<RedisBinary>}
 * @throws {NoRedisServerError}
 */
export function findRedisServer() {
  found ??= findOrMake().catch((/** @type {unknown} */ error) => {
    found = undefined;
    throw error;
  });
  return found;
}

/** @returns {Promise<RedisBinary>} */
async function findOrMake() {
  const onPath = await findOnPath();
  if (onPath) return { command: onPath, env: {}, source: 'path' };
  const ready = await findPrivateRedis();
  if (ready) return { ...ready, source: 'private' };
  let reason = '';
  if (await canMakePrivateRedis()) {
    try {
      await withProgress('Fetching a private Redis server', makePrivateRedis);
    } catch (error) {
      reason = ` (a private copy could not be made: ${firstLine(error)})`;
    }
  }
  const made = await findPrivateRedis();
  if (made) return { ...made, source: 'private' };
  throw new NoRedisServerError(
    `No Redis server found${reason}: ${await installHint()}, or put redis-server, valkey-server or keydb-server on the PATH.`,
  );
}

async function findOnPath() {
  const run = promisify(execFile);
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const name of NAMES) {
    for (const folder of folders) {
      const command = join(folder, name);
      try {
        await access(command, constants.X_OK);
        await run(command, ['--version']);
        return command;
      } catch {
        continue;
      }
    }
  }
  return null;
}

/** @param {unknown} error */
function firstLine(error) {
  const { stderr, message } = /** @type {{ stderr?: string, message?: string }} */ (error);
  return (stderr?.trim() || message || String(error)).split('\n')[0]?.slice(0, 200);
}

async function installHint() {
  if (process.platform === 'darwin') return 'run "brew install redis"';
  if (process.platform === 'win32') return 'work inside WSL';
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const system = (release.match(/^ID(_LIKE)?=.*$/gm) ?? []).join(' ');
  /** @type {[RegExp, string][]} */
  const commands = [
    [/debian|ubuntu/, 'sudo apt-get install redis-server'],
    [/fedora|rhel|centos/, 'sudo dnf install valkey'],
    [/alpine/, 'sudo apk add redis'],
    [/arch/, 'sudo pacman -S valkey'],
    [/suse/, 'sudo zypper install redis'],
  ];
  const match = commands.find(([pattern]) => pattern.test(system));
  return match ? `run "${match[1]}"` : 'install Redis 7 or Valkey 8';
}
