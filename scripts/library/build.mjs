// Makes libs/redis-lock ready to pack: ES modules, CommonJS, types for both, and what a reader needs.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { entries, LIBRARY } from './surface.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(LIBRARY, 'dist');
const CONFIG = join(LIBRARY, 'tsconfig.lib.json');
/** The command line runs as an ES module, and no module imports it. */
const ONLY_ESM = /^cli[\\/]/;
/** Where a module is. CommonJS has another word for it. */
const HERE = 'import.meta.url';
/** The types of a client that is not installed count as any. */
const CLIENTS = /^(?=import .* from '(ioredis)';$)/gm;
/** Without `internals`, which is for those who change the library. */
const DOCS = readdirSync(join(ROOT, 'docs')).filter((name) => name.includes('.'));
const PAGES = ['README.md', 'README.zh-CN.md', ...DOCS.map((name) => `docs/${name}`)];

rmSync(DIST, { recursive: true, force: true });
const checked = writeTypes();
writeModules('esm', { module: ts.ModuleKind.ES2022 });
writeModules('cjs', { module: ts.ModuleKind.CommonJS, verbatimModuleSyntax: false });
write(join(DIST, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
copyPages();
process.exitCode = await checked;
if (process.exitCode === 0) copyTypes();
else rmSync(DIST, { recursive: true, force: true });

/**
 * Checks everything on the way.
 * @returns {Promise<number>} the compiler's exit code
 */
function writeTypes() {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', CONFIG, '--emitDeclarationOnly'];
  const compiler = spawn(process.execPath, args, { stdio: 'inherit' });
  return new Promise((resolve) => {
    compiler.on('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

/**
 * File by file, which `isolatedModules` makes safe, while the compiler checks them all. The types
 * carry the comments.
 * @param {'esm' | 'cjs'} format
 * @param {ts.CompilerOptions} own
 */
function writeModules(format, own) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const { options, fileNames = [] } =
    ts.getParsedCommandLineOfConfigFile(CONFIG, undefined, host) ?? {};
  const compilerOptions = {
    ...options,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    removeComments: true,
    ...own,
  };
  for (const fileName of fileNames) {
    const name = posix.relative(posix.join(LIBRARY, 'src'), fileName);
    if (format === 'cjs' && ONLY_ESM.test(name)) continue;
    const source = readFileSync(fileName, 'utf8');
    const { outputText } = ts.transpileModule(source, { compilerOptions, fileName });
    const text = format === 'cjs' ? outputText.replaceAll(HERE, '__filename') : outputText;
    write(join(DIST, format, name.replace(/\.ts$/, '.js')), text);
  }
}

/**
 * Only the types that a user's compiler reads. They are the same in both formats; a compiler reads the
 * format from the folder.
 */
function copyTypes() {
  const esm = join(DIST, 'esm');
  const read = reachableTypes(esm);
  for (const name of readdirSync(esm, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    if (!read.has(posix.normalize(name))) {
      rmSync(join(esm, name));
      continue;
    }
    const text = readFileSync(join(esm, name), 'utf8').replace(CLIENTS, '// @ts-ignore\n');
    for (const format of ['esm', 'cjs']) write(join(DIST, format, name), text);
  }
}

/**
 * Those of the entries, and the ones that they import.
 * @param {string} folder
 */
function reachableTypes(folder) {
  const all = new Set(entries().map((entry) => `${entry}.d.ts`));
  for (const name of all) {
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, target] of text.matchAll(/['"](\.{1,2}\/[^'"]+)\.js['"]/g)) {
      all.add(posix.join(posix.dirname(name), `${target}.d.ts`));
    }
  }
  return all;
}

/** The README, the docs and the licence of the repository, which keeps them only once. */
function copyPages() {
  rmSync(join(LIBRARY, 'docs'), { recursive: true, force: true });
  for (const page of PAGES)
    write(join(LIBRARY, page), withoutLinksOut(page, readFileSync(join(ROOT, page), 'utf8')));
  copyFileSync(join(ROOT, 'LICENSE'), join(LIBRARY, 'LICENSE'));
}

/**
 * A link to what is not in the package, such as a source or a test, becomes its text. No picture is
 * in the package.
 * @param {string} page
 * @param {string} text
 */
function withoutLinksOut(page, text) {
  const links = /\[([^\]]+)\]\((?![a-z]+:|#)([^)#\s]+)[^)]*\)/g;
  const prose = text.replace(/<picture>.*?<\/picture>\n+/gs, '');
  return prose.replace(links, (/** @type {string[]} */ ...[link = '', shown = '', target = '']) => {
    const path = posix.join(posix.dirname(page), target);
    return PAGES.includes(path) ? link : shown;
  });
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
