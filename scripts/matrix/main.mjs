import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { npmCommand } from '../npm.mjs';
import { CELLS } from './cells.mjs';
import { writeResults } from './page.mjs';
import { CACHE, copyWithIoredis, provideNode, provideServer, ROOT } from './provide.mjs';

const RUN_TIMEOUT_MS = 40 * 60_000;
const TAIL_LINES = 80;
const NO_REPORT = { passed: 0, failures: ['Jest has written no report'], skipped: {} };
const USAGE = `npm run matrix [-- [cell …] [--tests path,…]]
Cells: ${CELLS.map(({ name }) => name).join(', ')}; default: all
--tests  only these paths of npm test, and docs/internals/matrix.md stays as it is`;

/** @typedef {import('./page.mjs').Counts} Counts */

const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

/**
 * @param {string} file
 * @returns {Promise<unknown>}
 */
async function readJson(file) {
  /** @type {unknown} */
  const content = JSON.parse(await readFile(file, 'utf8'));
  return content;
}

/**
 * The counts of Jest. A test that is skipped without a reason counts as failed.
 * @param {string} file
 * @returns {Promise<Omit<Counts, 'failed'> & { failures: string[] }>}
 */
async function countsIn(file) {
  /** @typedef {{ status: string, fullName: string }} Assertion */
  /** @typedef {{ name: string, assertionResults: Assertion[] }} Spec */
  /** @typedef {{ numPassedTests: number, testResults: Spec[] }} Report */
  const report = /** @type {Report} */ (await readJson(file));
  const broken = report.testResults.filter(({ assertionResults }) => assertionResults.length === 0);
  const failures = broken.map(({ name }) => name);
  /** @type {Record<string, number>} */
  const skipped = {};
  for (const { status, fullName } of report.testResults.flatMap((spec) => spec.assertionResults)) {
    if (status === 'passed') continue;
    const reason = status === 'pending' && /\[skipped: (.+?)\]/.exec(fullName)?.[1];
    if (reason) skipped[reason] = (skipped[reason] ?? 0) + 1;
    else failures.push(`${status}: ${fullName}`);
  }
  return { passed: report.numPassedTests, failures, skipped };
}

/**
 * Runs an npm script in a cell. Its output is in a file, of which a failed run shows the end.
 * @param {string} cell
 * @param {string} script
 * @param {{ root: string, path: string, paths: string[], client: string }} where
 * @returns {Promise<Counts>}
 */
async function run(cell, script, { root, path, paths, client }) {
  const base = join(CACHE, `${cell}-${script.replace(':', '-')}`);
  const [log, report] = [`${base}.log`, `${base}.json`];
  await rm(report, { force: true });
  mkdirSync(CACHE, { recursive: true });
  const output = openSync(log, 'w');
  const startedAt = performance.now();
  const args = npmCommand('run', script, '--', '--json', `--outputFile=${report}`, ...paths);
  const child = spawn(...args, {
    ...{
      cwd: root,
      env: { ...process.env, PATH: path, REDIS: 'real', CLIENT: client },
      detached: true,
    },
    stdio: ['ignore', output, output],
  });
  // npm does not end what it has started; all of it is one process group.
  const stop = () => child.pid !== undefined && process.kill(-child.pid);
  const tooLong = setTimeout(stop, RUN_TIMEOUT_MS);
  process.once('exit', stop);
  await once(child, 'exit');
  clearTimeout(tooLong);
  process.off('exit', stop);
  closeSync(output);
  const counts = await countsIn(report).catch(() => NO_REPORT);
  const isDone = child.exitCode === 0 && counts.passed > 0;
  const failed = counts.failures.length || (isDone ? 0 : 1);
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  say(`${cell}: npm run ${script}, ${minutes} min`);
  const skipped = Object.entries(counts.skipped);
  const sum = skipped.reduce((total, [, count]) => total + count, 0);
  say(`Tests: ${failed} failed, ${sum} skipped, ${counts.passed} passed`);
  for (const [reason, count] of skipped) say(`  skipped: ${count} because ${reason}`);
  if (failed > 0) {
    const lines = (await readFile(log, 'utf8')).split('\n');
    for (const failure of counts.failures) say(`  ${failure}`);
    say(`--- the end of ${log}\n${lines.slice(-TAIL_LINES).join('\n')}\n---`);
  }
  return { passed: counts.passed, failed, skipped: counts.skipped };
}

/** The folder of the client of a cell. @param {Omit<import('./cells.mjs').Cell, 'name'>} cell */
function packageOf({ client = 'ioredis' }) {
  return { 'node-redis-5': 'redis-5', 'node-redis-6': 'redis' }[client] ?? 'ioredis';
}

/**
 * Written at the end: a test of the next cell would refuse the failures of this one.
 * @type {import('./page.mjs').Result[]}
 */
const results = [];

/**
 * @param {import('./cells.mjs').Cell} cell
 * @param {string[]} paths of specs; none: everything, and the page gets the result
 * @returns {Promise<boolean>} whether nothing has failed
 */
async function runCell({ name, ...cell }, paths) {
  const server = await provideServer(cell.server);
  const node = await provideNode(cell.node);
  const root = cell.ioredis === undefined ? ROOT : await copyWithIoredis(cell.ioredis);
  const manifest = join(root, 'node_modules', packageOf(cell), 'package.json');
  const found = /** @type {{ name: string, version: string }} */ (await readJson(manifest));
  const client = `${cell.client === undefined ? found.name : 'node-redis'} ${found.version}`;
  const what = { name, server: server.version, node: cell.node, client };
  say(`=== ${name}: ${what.server}, Node ${what.node}, ${client}`);
  const path = [server.folder, node, process.env.PATH].join(delimiter);
  const where = { root, path, paths, client: cell.client ?? 'ioredis' };
  const tests = await run(name, 'test', where);
  if (paths.length > 0) return tests.failed === 0;
  const faults = await run(name, 'test:faults', where);
  results.push({ ...what, counts: [tests, faults] });
  return tests.failed + faults.failed === 0;
}

/** @returns {{ cells: typeof CELLS, paths: string[] }} */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { tests: { type: 'string', default: '' } },
  });
  const unknown = positionals.filter((name) => !CELLS.some((cell) => cell.name === name));
  if (unknown.length > 0) throw new Error(`There is no cell ${unknown.join(', ')}.`);
  const wanted = CELLS.filter(({ name }) => positionals.includes(name));
  const paths = values.tests.split(',').filter(Boolean);
  return { cells: positionals.length > 0 ? wanted : CELLS, paths };
}

let plan;
try {
  plan = readArguments();
} catch (error) {
  process.stderr.write(`${/** @type {Error} */ (error).message}\n${USAGE}\n`);
  process.exit(2);
}
// Else the copy of the checkout would stay.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const failed = [];
for (const cell of plan.cells) {
  const isGreen = await runCell(cell, plan.paths).catch((/** @type {unknown} */ error) => {
    say(`${cell.name}: ${String(error)}`);
    return false;
  });
  if (!isGreen) failed.push(cell.name);
}
if (results.length > 0) await writeResults(results);
say(failed.length > 0 ? `Failed: ${failed.join(', ')}` : 'Every cell is green.');
process.exitCode = failed.length > 0 ? 1 : 0;
