/** @type {(versions: Versions) => Record<string, string>} */
const rowsFor = ({ nest, ioredis }) => ({
  guards: 'a guard, an interceptor or another decorator survives the locking decorator',
  ownError: "the method's own error passes through unchanged",
  fair: 'fair lock',
  readWrite: 'read-write lock',
  semaphore: 'semaphore',
  latch: 'latch',
  fencing: 'fencing token',
  waiting: 'waits without polling: requests of 20 waiters in a second',
  lost: 'a holder is notified of a lost lock while it works',
  works: `works with NestJS ${majorOf(nest)} and ioredis ${majorOf(ioredis)}`,
  withoutRedis: 'tests without Redis',
});

export const majorOf = (/** @type {string} */ version) => version.split('.')[0];

/**
 * @typedef {{ nest: string, ioredis: string }} Versions the newest
 * @typedef {object} Column of a library
 * @property {Record<string, string>} packages with their versions
 * @property {Record<string, string>} cells by the rows
 * @property {string} nest the version in which all but the row of the newest is tried
 */

/** @param {Column[]} columns @param {Versions} versions */
export function tableOf(columns, versions) {
  const heads = columns.map(({ packages }) =>
    Object.entries(packages)
      .map((it) => it.join(' '))
      .join(', '),
  );
  const rows = Object.entries(rowsFor(versions)).map(([row, title]) => [
    title,
    ...columns.map(({ cells }) => cells[row]),
  ]);
  const lines = [['', ...heads], ['', ...heads].map(() => '---'), ...rows];
  const text = lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
  return `${text}\n\n${circumstances(columns, versions)}`;
}

/** @param {Column[]} columns @param {Versions} versions */
function circumstances(columns, { nest, ioredis }) {
  const today = new Date().toISOString().slice(0, 10);
  const where = `NestJS ${nest}, ioredis ${ioredis} and Node ${process.versions.node}`;
  const older = columns.filter((column) => column.nest !== nest);
  const others = older.map(
    ({ packages, nest }) =>
      ` The other rows of ${Object.keys(packages)[0]} are tried with NestJS ${nest}.`,
  );
  return `Tried on ${today} with ${where}.${others.join('')}`;
}
