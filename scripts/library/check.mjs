// Whether the package, as it would be published, is what its users' tools expect: `npm run check:lib`.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { packLibrary } from './pack.mjs';
import { LIBRARY } from './surface.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** @typedef {Record<'tarball' | 'root', number>} Sizes */

/**
 * In bytes: `tarball` is the download from npm, with JavaScript, types and maps for both formats. `root`
 * is what `import 'nestjs-redis-lock'` loads of this package, after gzip.
 */
/** @type {unknown} */
const limits = JSON.parse(readFileSync(join(ROOT, 'budget.json'), 'utf8'));
const { package: BUDGET } = /** @type {{ package: Sizes }} */ (limits);
const work = mkdtempSync(join(tmpdir(), 'library-check-'));
try {
  const { tarball, size } = packLibrary(work);
  const small = [within('tarball', size), within('root', sizeOfRoot())];
  const typedoc = ['--options', join(LIBRARY, 'typedoc.json'), '--emit', 'none'];
  const clean = await Promise.all([
    tool('publint', 'node_modules/publint/src/cli.js', 'run', '--strict', tarball),
    // No other package is asked for types of ours, which has its own.
    tool(
      'attw',
      'node_modules/@arethetypeswrong/cli/dist/index.js',
      '--no-definitely-typed',
      tarball,
    ),
    tool('API report', 'scripts/library/api.mjs', '--check'),
    tool('typedoc', 'node_modules/typedoc/bin/typedoc', ...typedoc),
  ]);
  if ([...small, ...clean].includes(false)) process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true });
}

/**
 * @param {string} name
 * @param {string} script
 * @param {string[]} args
 * @returns {Promise<boolean>}
 */
function tool(name, script, ...args) {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, script), ...args], (error, stdout, stderr) => {
      say(name, error === null, error === null ? '' : `${stdout}${stderr}`);
      resolve(error === null);
    });
  });
}

/**
 * @param {keyof Sizes} what
 * @param {number} bytes
 */
function within(what, bytes) {
  const fits = bytes <= BUDGET[what];
  say(`size of the ${what}`, fits, `${bytes} of ${BUDGET[what]} bytes`);
  return fits;
}

function sizeOfRoot() {
  const loaded = new Set([join(LIBRARY, 'dist', 'esm', 'index.js')]);
  let text = '';
  // A set goes on to what is added to it on the way.
  for (const file of loaded) {
    const source = readFileSync(file, 'utf8');
    text += source;
    for (const [, path = ''] of source.matchAll(/^(?:import|export|\}).*?["'](\.[^"']+)["'];$/gm))
      loaded.add(join(dirname(file), path));
  }
  return gzipSync(text).length;
}

/**
 * @param {string} what
 * @param {boolean} passed
 * @param {string} detail
 */
function say(what, passed, detail) {
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${what}${detail && `: ${detail}`}`);
}
