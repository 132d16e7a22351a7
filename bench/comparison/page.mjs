import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as prettier from 'prettier';

const PAGE = join(import.meta.dirname, '../../docs/comparison.md');
const SECTION = /(<!-- npm run bench:comparison -->\n)(.*?)(<!-- end -->)/s;

const ROWS = {
  guards: 'a guard, an interceptor or another decorator survives the locking decorator',
  ownError: "the method's own error passes through unchanged",
  fair: 'fair lock',
  readWrite: 'read-write lock',
  semaphore: 'semaphore',
  latch: 'latch',
  fencing: 'fencing token',
  waiting: 'waits without polling: requests of 20 waiters in a second',
  lost: 'a holder is notified of a lost lock while it works',
  works: 'works with NestJS 12 and ioredis 6',
  withoutRedis: 'tests without Redis',
};

/**
 * @typedef {object} Column of a library
 * @property {Record<string, string>} packages with their versions
 * @property {Record<string, string>} cells by the keys of `ROWS`
 */

/**
 * @param {Column[]} columns
 * @param {{ nest: string, ioredis: string }} versions
 */
export function tableOf(columns, { nest, ioredis }) {
  const heads = columns.map(({ packages }) =>
    Object.entries(packages).map((it) => it.join(' ')).join(', '),
  );
  const rows = Object.entries(ROWS).map(([row, title]) => [
    title,
    ...columns.map(({ cells }) => cells[row]),
  ]);
  const lines = [['', ...heads], ['', ...heads].map(() => '---'), ...rows];
  const today = new Date().toISOString().slice(0, 10);
  const text = lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
  return `${text}\n\nTried on ${today} with NestJS ${nest}, ioredis ${ioredis} and Node ${process.versions.node}.`;
}

/** @param {string} table */
export async function writeTable(table) {
  const page = await readFile(PAGE, 'utf8');
  const written = page.replace(SECTION, (_, begin, __, end) => `${begin}\n${table}\n\n${end}`);
  const options = await prettier.resolveConfig(PAGE);
  await writeFile(PAGE, await prettier.format(written, { ...options, parser: 'markdown' }));
}
