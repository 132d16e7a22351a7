// Whether the project stays within budget.json: `npm run budget`. A commit that raises a limit says
// why; `-- --write` lowers the limits to what there is.
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { globSync } from 'tinyglobby';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = `${ROOT}budget.json`;
const CODE = '**/*.{ts,mjs}';
const NO_CODE = ['**/node_modules/**', '**/dist/**'];
const SPECS = '**/*.spec.ts';

/** The most lines of a file that is not among `longFiles`. */
const MOST_LINES = 250;

/**
 * @typedef {object} Budget
 * @property {Record<string, number>} rooms the lines of each room without specs, subfolders included
 * @property {number} tests the lines of all tests and specs
 * @property {Record<string, number>} longFiles the lines of each file above the limit of all others
 *
 * `npm run check:lib` keeps to `package`, in bytes. test/core/budget.spec.ts keeps to `promises` and
 * `pairs`: what the library does for an acquire and its release.
 */

/** @type {unknown} */
const limits = JSON.parse(readFileSync(FILE, 'utf8'));
const budget = /** @type {Budget} */ (limits);
const found = measure();
if (argv.includes('--write')) lower();
const complaints = [
  ...Object.entries(budget.rooms).map(([room, most]) => over(room, found.rooms[room] ?? 0, most)),
  over('tests and specs', found.tests, budget.tests),
  ...Object.entries(found.longFiles).map(([file, lines]) =>
    over(file, lines, budget.longFiles[file] ?? MOST_LINES),
  ),
  ...Object.keys(budget.longFiles).map((file) =>
    file in found.longFiles
      ? ''
      : `${file} has no more than ${MOST_LINES} lines: take it off the list`,
  ),
].filter((complaint) => complaint !== '');
if (complaints.length > 0) {
  console.error(`${complaints.join('\n')}\nbudget.json has the limits.`);
  process.exitCode = 1;
}

/** @returns {Budget} */
function measure() {
  const rooms = Object.fromEntries(
    Object.keys(budget.rooms).map((room) => [room, sum(linesOf([`${room}/${CODE}`], [SPECS]))]),
  );
  const tests = linesOf([`test/${CODE}`, `{libs,apps}/${SPECS}`], []);
  const source = linesOf([`{libs,apps,scripts,bench,site,examples}/${CODE}`], [SPECS]);
  const longFiles = [...source, ...tests].filter(([, lines]) => lines > MOST_LINES).sort();
  return { rooms, tests: sum(tests), longFiles: Object.fromEntries(longFiles) };
}

/**
 * @param {string[]} patterns
 * @param {string[]} ignore
 * @returns {[file: string, lines: number][]}
 */
function linesOf(patterns, ignore) {
  const files = globSync(patterns, { cwd: ROOT, ignore: [...NO_CODE, ...ignore] });
  return files.map((file) => [file, readFileSync(ROOT + file, 'utf8').split('\n').length - 1]);
}

/** @param {[string, number][]} files */
function sum(files) {
  return files.reduce((all, [, lines]) => all + lines, 0);
}

/**
 * @param {string} what
 * @param {number} lines
 * @param {number} most
 */
function over(what, lines, most) {
  return lines > most ? `${what} has ${lines} lines, of at most ${most}` : '';
}

function lower() {
  for (const [room, lines] of Object.entries(found.rooms)) {
    budget.rooms[room] = Math.min(budget.rooms[room] ?? Infinity, lines);
  }
  budget.tests = Math.min(budget.tests, found.tests);
  budget.longFiles = Object.fromEntries(
    Object.entries(found.longFiles).flatMap(([file, lines]) => {
      const most = budget.longFiles[file];
      return most === undefined ? [] : [[file, Math.min(most, lines)]];
    }),
  );
  writeFileSync(FILE, `${JSON.stringify(budget, null, 2)}\n`);
}
