// The imports of users, by the existing files: each file beside the rooms of the library is an
// entry.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const LIBRARY = fileURLToPath(new URL('../../libs/redis-lock', import.meta.url));
export const MANIFEST = join(LIBRARY, 'package.json');
export const CONFIG = join(LIBRARY, 'tsconfig.lib.json');
export const DIST = join(LIBRARY, 'dist');
/** The types of each source, until they are bundled. */
export const TYPES = join(DIST, 'types');

/** The names of the entries: `index`, then those of the subpaths. */
export function entries() {
  const names = readdirSync(join(LIBRARY, 'src'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => file.slice(0, -'.ts'.length));
  return ['index', ...names.filter((name) => name !== 'index').sort()];
}

/**
 * The present package.json, and the due one with every entry.
 * @returns {Record<'now' | 'due', Record<string, unknown>>}
 */
export function manifest() {
  /** @type {unknown} */
  const written = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  const now = /** @type {Record<string, unknown>} */ (written);
  const due = Object.entries({ ...now, ...surface() });
  return { now, due: Object.fromEntries(due.filter(([, value]) => value !== undefined)) };
}

function surface() {
  const subpaths = entries().slice(1);
  const hasCli = existsSync(join(LIBRARY, 'src', 'cli', 'main.ts'));
  return {
    exports: {
      '.': conditions('index'),
      ...byName(subpaths, (name) => [`./${name}`, conditions(name)]),
      './package.json': './package.json',
    },
    // Compilers with "moduleResolution": "node10" do not read exports.
    typesVersions: {
      '*': byName(subpaths, (name) => [name, [`./dist/cjs/${name}.d.ts`]]),
    },
    bin: hasCli ? { 'nestjs-redis-lock': './dist/esm/cli/main.js' } : undefined,
  };
}

/**
 * @param {string[]} names
 * @param {(name: string) => [string, unknown]} line
 * @returns {Record<string, unknown>}
 */
function byName(names, line) {
  return Object.fromEntries(names.map(line));
}

/**
 * `module-sync` gives `require` the same modules as `import`, where Node can do that. Otherwise an
 * application could have every class twice.
 *
 * @param {string} name
 */
function conditions(name) {
  const files = (/** @type {'cjs' | 'esm'} */ format) => ({
    types: `./dist/${format}/${name}.d.ts`,
    default: `./dist/${format}/${name}.js`,
  });
  return { 'module-sync': files('esm'), import: files('esm'), require: files('cjs') };
}
