// Runs before anything is installed: Node built-ins only.
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copy, findPostgres, NoPostgresServerError, run, Workplace } from './postgres-binaries.mjs';
import { copyFolder, makeCopy } from './private-copy.mjs';

const INITDB = [
  ...['--username=postgres', '--auth=scram-sha-256', '--no-sync', '--no-instructions'],
  ...['--no-locale', '--encoding=UTF8', '--wal-segsize=1'],
  // Iterations make guessing slow. A random password of 128 bits is guessed by nobody.
  ...['--set', 'scram_iterations=1'],
];

/** Three databases of 300 files each, and only one is used: the rest would be copied at each start. */
const LEAN = [
  'UPDATE pg_database SET datistemplate = false;',
  'DROP DATABASE template0;',
  'DROP DATABASE template1;\n',
].join('\n');

/** @type {Promise<string> | undefined} */
let prepared;

/**
 * Makes the template that every server's data folder is copied from, once for each version.
 * @returns {Promise<string>} a folder with `data` and `password`
 * @throws {NoPostgresServerError}
 */
export function preparePostgres() {
  prepared ??= findOrMake().catch((/** @type {unknown} */ error) => {
    prepared = undefined;
    throw error;
  });
  return prepared;
}

async function findOrMake() {
  const { version } = await findPostgres();
  const made = createHash('sha1')
    .update([...INITDB, LEAN].join(' '))
    .digest('hex')
    .slice(0, 8);
  const template = copyFolder('postgres', `${version}-${made}`);
  const isThere = () => Promise.resolve(existsSync(template));
  if (!(await isThere())) await makeCopy(template, fill, isThere);
  return template;
}

/** @param {string} root */
async function fill(root) {
  const work = await Workplace.make();
  try {
    await initialise(work);
    await makeLean(work);
    await mkdir(root);
    await copy(work.data, root);
    await copy(join(work.folder, 'password'), root);
  } finally {
    await work.remove();
  }
}

/**
 * With a password, because any user of this machine can reach a port of 127.0.0.1. A superuser of
 * Postgres runs programs as the user of the server.
 * @param {Workplace} work
 */
async function initialise(work) {
  const password = join(work.folder, 'password');
  await writeFile(password, randomBytes(16).toString('hex'), { mode: 0o600 });
  await work.handOver();
  try {
    const args = ['--pgdata', work.data, '--pwfile', password, ...INITDB];
    await run(work.command('initdb'), args, work.spawnOptions);
  } catch (error) {
    const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (error);
    throw new NoPostgresServerError((stderr?.trim() || message).replace(/\s+/g, ' '));
  }
}

/**
 * Without a port, as a single process that reads one statement from each line.
 * @param {Workplace} work
 */
async function makeLean(work) {
  const args = ['--single', '-D', work.data, 'postgres'];
  const backend = spawn(work.command('postgres'), args, {
    ...work.spawnOptions,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  backend.stdin.end(LEAN);
  await once(backend, 'close');
}
