// One file for each entry, and one for each room that entries share. So an import reads few files, and
// a class exists once in each format.
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import ts from 'typescript';
import { CONFIG, DIST, entries, LIBRARY, manifest, TYPES } from './surface.mjs';

/** @typedef {import('rollup').Plugin} Plugin */
/** @typedef {import('@jridgewell/sourcemap-codec').SourceMapMappings} SourceMapMappings */

const SOURCES = join(LIBRARY, 'src');
/** Rooms that several entries need. Metrics and traces need `core/api`, and one file of the family. */
const ROOM =
  /^(?:core[\\/])?(api|core|primitives|connection|ioredis|node-redis|family(?![\\/]lock-telemetry)|nest)[\\/]/;
/** Otherwise the compiler writes them into each file that has a decorator. */
const HELPERS = fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs'));
const UNPKG = 'https://unpkg.com/nestjs-redis-lock';
/** Where the pages of the built version are. */
const OF_THIS_VERSION = `${UNPKG}@${String(manifest().now.version)}`;
/** The types of a client that is not installed count as any. */
const CLIENTS = /^(?=import .* from 'ioredis';$)/gm;

/**
 * Writes the JavaScript of both formats, with maps beside it.
 * @returns {Promise<Map<string, string[]>>} for each file the names that a program can import
 */
export async function bundleModules() {
  const plugins = [transpiler(), commonJs, linesOnly];
  const modules = await bundle(SOURCES, '.ts', [...entries(), 'cli/main'], plugins);
  const maps = { sourcemap: true, sourcemapExcludeSources: true };
  await modules.write({ ...layout('cjs', SOURCES, '.js'), ...maps });
  const { output } = await modules.write({ ...layout('esm', SOURCES, '.js'), ...maps });
  return new Map(output.map((file) => [file.fileName, 'exports' in file ? file.exports : []]));
}

/**
 * Writes the types, which are the same in both formats: a compiler reads the format from the folder.
 * @param {Map<string, string[]>} values for each file the names that a program can import
 */
export async function bundleTypes(values) {
  const types = await bundle(TYPES, '.d.ts', entries(), [dts(), typesOnly(values)]);
  for (const format of /** @type {const} */ (['esm', 'cjs']))
    await types.write({ ...layout(format, TYPES, '.d.ts'), format: 'esm' });
}

/**
 * @param {string} folder
 * @param {'.ts' | '.d.ts'} ending
 * @param {string[]} names
 * @param {Plugin[]} plugins
 */
function bundle(folder, ending, names, plugins) {
  return rollup({
    input: Object.fromEntries(names.map((name) => [name, join(folder, `${name}${ending}`)])),
    plugins,
    external: (id) => /^[@a-z]/.test(id) && id !== 'tslib',
    onwarn({ message }) {
      // A user's compiler could never name a type that no entry exports.
      if (!message.includes('private shared type exports')) throw new Error(message);
    },
  });
}

/**
 * @param {'esm' | 'cjs'} format
 * @param {string} folder that the rooms are in
 * @param {'.js' | '.d.ts'} ending
 * @returns {import('rollup').OutputOptions}
 */
function layout(format, folder, ending) {
  return {
    format,
    dir: join(DIST, format),
    entryFileNames: `[name]${ending}`,
    chunkFileNames: `chunks/[name]${ending}`,
    manualChunks: (id) => ROOM.exec(relative(folder, id))?.[1],
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    externalLiveBindings: false,
    // Node finds no export of CommonJS behind an arrow function.
    generatedCode: { preset: 'es2015', symbols: false, arrowFunctions: false },
    esModule: true,
  };
}

/**
 * File by file, which `isolatedModules` makes safe, while the compiler checks them all. The types
 * carry the comments.
 * @returns {Plugin}
 */
function transpiler() {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const compilerOptions = {
    ...ts.getParsedCommandLineOfConfigFile(CONFIG, undefined, host)?.options,
    module: ts.ModuleKind.ES2022,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    removeComments: true,
    importHelpers: true,
    sourceMap: true,
  };
  return {
    name: 'transpiler',
    resolveId(id, importer = '') {
      if (id === 'tslib') return HELPERS;
      return id.startsWith('.') ? join(dirname(importer), id.replace(/\.js$/, '.ts')) : null;
    },
    load(fileName) {
      const text = readFileSync(fileName, 'utf8').replace(UNPKG, OF_THIS_VERSION);
      if (fileName === HELPERS) return { code: text, map: { mappings: '' } };
      const { outputText, sourceMapText } = ts.transpileModule(text, { compilerOptions, fileName });
      const code = outputText.replace(/^\/\/# sourceMappingURL=.*/m, '');
      return { code, map: { ...mapIn(String(sourceMapText)), sources: [fileName] } };
    },
  };
}

/**
 * CommonJS has another word for the place of a module, and needs no command line, which runs alone.
 * @type {Plugin}
 */
const commonJs = {
  name: 'commonjs',
  resolveImportMeta: (property, { format }) =>
    property === 'url' && format === 'cjs' ? '__filename' : null,
  generateBundle({ format }, files) {
    for (const name of Object.keys(files))
      if (format === 'cjs' && name.startsWith('cli/')) Reflect.deleteProperty(files, name);
  },
};

/**
 * A stack trace needs lines. With the columns, the maps would be as large as the code. Node takes a name
 * in a map for that of the function, although it may be another's. Exports alone need no map.
 * @type {Plugin}
 */
const linesOnly = {
  name: 'lines-only',
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type !== 'chunk' || file.map === null) continue;
      const place = `${file.fileName}.map`;
      const map = files[place];
      if (file.map.sources.length === 0) {
        Reflect.deleteProperty(files, place);
        file.code = file.code.replace(/^\/\/# sourceMappingURL=.*\n/m, '');
      } else if (map?.type === 'asset') {
        const lines = decode(file.map.mappings).map((line) =>
          line.slice(0, 1).map((segment) => segment.slice(0, 4)),
        );
        const mappings = encode(/** @type {SourceMapMappings} */ (lines));
        map.source = JSON.stringify({ ...file.map, names: [], mappings });
      }
    }
  },
};

/**
 * @param {string} text
 * @returns {import('rollup').ExistingRawSourceMap}
 */
function mapIn(text) {
  /** @type {unknown} */
  const map = JSON.parse(text);
  return /** @type {import('rollup').ExistingRawSourceMap} */ (map);
}

/**
 * A class of which an entry exports the type alone stays so.
 * @param {Map<string, string[]>} values for each file the names that a program can import
 * @returns {Plugin}
 */
function typesOnly(values) {
  return {
    name: 'types-only',
    generateBundle(_, files) {
      for (const file of Object.values(files)) {
        if (file.type !== 'chunk') continue;
        const known = file.isEntry ? values.get(file.fileName.replace('.d.ts', '.js')) : undefined;
        file.code = file.code
          .replace(CLIENTS, '// @ts-ignore\n')
          .replace(/(?<=^export \{ )[^}]+(?= \})/gm, (list) =>
            list
              .split(', ')
              .map((name) => (known?.includes(name) === false ? `type ${name}` : name))
              .join(', '),
          );
      }
    },
  };
}
