// Tries what this library and others can do, each in the newest version that npm has.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { packLibrary } from '../../scripts/library/pack.mjs';
import { startRedisServer } from '../../scripts/redis-server.mjs';
import { writeSections } from '../write-sections.mjs';
import { majorOf, tableOf } from './page.mjs';
import { newestOf, provide, versionIn } from './provide.mjs';

const TRY_TIMEOUT_MS = 300_000;
const OURS = 'nestjs-redis-lock';
const PAGE = join(import.meta.dirname, '../../docs/comparison.md');

/** Each file of `libraries/`, and its packages: the newest, or the version that is named here. */
const LIBRARIES = {
  ours: { [OURS]: '' },
  // Its tag `latest` is still 4; both are in use.
  redlock: { redlock: '5.0.0-beta.2' },
  'redlock-4': { redlock: '' },
  'redis-semaphore': { 'redis-semaphore': '' },
  murlock: { murlock: '' },
  'redlock-universal': { 'redlock-universal': '', 'nestjs-redlock-universal': '' },
};

const say = (line) => process.stderr.write(`${line}\n`);

/**
 * @param {string} folder of an application
 * @param {string} name of a library
 * @param {string[]} rows none: all
 * @returns {Promise<Record<string, string>>} a cell for each row
 */
async function probe(folder, name, ...rows) {
  const server = await startRedisServer();
  try {
    const args = [join(folder, 'probe.mjs'), name, server.url, ...rows];
    const options = { cwd: folder, timeout: TRY_TIMEOUT_MS };
    return JSON.parse((await promisify(execFile)(process.execPath, args, options)).stdout);
  } finally {
    await server.stop();
  }
}

/** @returns {Promise<string>} whether the library works beside the newest Nest and ioredis */
async function atNewest({ newest, isForced }, name, { client, hasNest }, versions) {
  const [nest, ioredis] = [majorOf(versions.nest), majorOf(versions.ioredis)];
  const ownClient = client === 'ioredis' ? `ioredis ${ioredis}: yes` : `its client is ${client}`;
  if (!hasNest) return ownClient;
  if (!isForced) return client === 'ioredis' ? 'yes' : `NestJS ${nest}: yes; ${ownClient}`;
  const runs = await probe(newest, name, 'works').then(
    () => 'npm needs `--force`',
    () => 'no',
  );
  return `NestJS ${nest}: ${runs}; ${ownClient}`;
}

/** @returns {Promise<Record<string, string>>} the packages of a library, with their versions */
async function packagesOf(name) {
  const wanted = Object.entries(LIBRARIES[name]);
  const found = wanted.map(async ([it, version]) => [it, version || (await newestOf(it))]);
  return Object.fromEntries(await Promise.all(found));
}

/** @returns {Promise<import('./page.mjs').Column>} */
async function tryLibrary(name, work, versions) {
  const isOurs = name === 'ours';
  const packages = isOurs ? { [OURS]: packLibrary(work).tarball } : await packagesOf(name);
  say(`${name}: installs`);
  const apps = await provide(join(work, name), packages, versions);
  say(`${name}: tries`);
  const cells = await probe(apps.tried, name);
  const works = await atNewest(apps, name, cells, versions);
  const names = Object.keys(packages).map((it) => [it, versionIn(apps.tried, it)]);
  return {
    packages: Object.fromEntries(names),
    cells: { ...cells, works },
    nest: versionIn(apps.tried, '@nestjs/core'),
  };
}

async function main() {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  const work = await mkdtemp(join(tmpdir(), 'comparison-'));
  try {
    const versions = { nest: await newestOf('@nestjs/core'), ioredis: await newestOf('ioredis') };
    const columns = [];
    for (const name of Object.keys(LIBRARIES)) columns.push(await tryLibrary(name, work, versions));
    const table = tableOf(columns, versions);
    if (values.write) await writeSections(PAGE, { 'npm run bench:comparison': table });
    else console.log(table);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

main().catch((error) => {
  say(error.stderr || error.stack);
  process.exitCode = 1;
});
