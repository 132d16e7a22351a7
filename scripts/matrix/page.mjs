import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';
import { CELLS, SERVERS } from './cells.mjs';

const PAGE = fileURLToPath(new URL('../../docs/internals/matrix.md', import.meta.url));
const HEAD = ['cell', 'server', 'Node', 'client', '`npm test`', '`npm run test:faults`'];
const COLUMNS = [...HEAD, 'skipped, because', 'on'];
/** A cell says so from when it comes into the matrix until it is run. */
export const NOT_RUN = 'not yet run';
const SECTION = /(<!-- npm run matrix -->\n)(.*?)(<!-- end -->)/s;

/**
 * @typedef {object} Counts of one run of Jest
 * @property {number} passed
 * @property {number} failed
 * @property {Readonly<Record<string, number>>} skipped by the reason
 *
 * @typedef {object} Result of a cell
 * @property {string} name
 * @property {string} server
 * @property {string} node
 * @property {string} client
 * @property {readonly [Counts, Counts]} counts of `npm test` and of `npm run test:faults`
 */

/**
 * The rows of the table, one for each cell.
 * @param {string} page
 * @returns {string[][]}
 */
export function rowsOf(page) {
  const [, , section = ''] = SECTION.exec(page) ?? [];
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((text) => text.trim()),
  );
}

/**
 * @param {Result} result
 * @param {string} today
 * @returns {string[]}
 */
export function rowOf({ name, server, node, client, counts }, today) {
  /** @type {Map<string, number>} */
  const skipped = new Map();
  for (const [reason, count] of counts.flatMap((run) => Object.entries(run.skipped)))
    skipped.set(reason, (skipped.get(reason) ?? 0) + count);
  const reasons = [...skipped].sort().map(([reason, count]) => `${count}: ${reason}`);
  const ran = counts.map(({ passed, failed }) => {
    const text = `${passed.toLocaleString('en')} passed`;
    return failed > 0 ? `${text}, **${failed} failed**` : text;
  });
  return [name, server, node, client, ...ran, reasons.join('. ') || 'none', today];
}

/** @param {Pick<import('./cells.mjs').Cell, 'ioredis' | 'client'>} cell */
export const clientOf = ({ ioredis = '6', client }) => {
  if (client !== undefined) return client.replace(/-(\d+)$/, ' $1');
  return ioredis.startsWith('npm:') ? ioredis.slice(4).replace('@', ' ') : `ioredis ${ioredis}`;
};

/** @param {import('./cells.mjs').Cell} cell */
const unknownRow = ({ name, server, node, ...client }) => [
  ...[name, SERVERS[server]?.version ?? '', node, clientOf(client)],
  ...[NOT_RUN, NOT_RUN, '', ''],
];

/**
 * The page with these rows; those of other cells stay.
 * @param {string} page
 * @param {readonly string[][]} rows
 * @returns {Promise<string>}
 */
export async function withRows(page, rows) {
  const byName = new Map([...rowsOf(page), ...rows].map((row) => [row[0], row]));
  const present = CELLS.map((cell) => byName.get(cell.name) ?? unknownRow(cell));
  const table = [COLUMNS, COLUMNS.map(() => '---'), ...present];
  const text = table.map((row) => `| ${row.join(' | ')} |`).join('\n');
  const written = page.replace(SECTION, (_, begin, __, end) => `${begin}\n${text}\n\n${end}`);
  const options = await prettier.resolveConfig(PAGE);
  return prettier.format(written, { ...options, parser: 'markdown' });
}

/** @param {readonly Result[]} results */
export async function writeResults(results) {
  const page = await readFile(PAGE, 'utf8');
  const today = new Date().toISOString().slice(0, 10);
  const rows = results.map((result) => rowOf(result, today));
  await writeFile(PAGE, await withRows(page, rows));
}
