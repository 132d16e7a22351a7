import { transform } from '@swc/core';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { swcOptions } from './swc-options.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['apps', 'examples', 'libs', 'scripts', 'test'];
const VERSION = createHash('sha1').update(JSON.stringify(swcOptions)).digest('hex').slice(0, 8);
const IS_NO_SPEC = /(?<!\.spec|\.d)\.ts$|\.mjs$/;
const OUTPUT = join(ROOT, 'node_modules', '.cache', `compiled-${VERSION}`);

/**
 * Where plain Node finds a source file as JavaScript, once `compile` has run.
 * @param {URL} source
 */
export function compiled(source) {
  return join(OUTPUT, relative(ROOT, fileURLToPath(source))).replace(/\.ts$/, '.js');
}

/**
 * Resolves with the module of a source file, once `compile` has run.
 * @param {URL} source
 * @returns {Promise<unknown>}
 */
export function importCompiled(source) {
  return import(pathToFileURL(compiled(source)).href);
}

/**
 * Translates what has changed since the last time, without a check of the types. The demo runs from
 * there, and tests start processes from there. (A loader would do it at every start, and takes a
 * second for the modules of Nest alone.)
 */
export async function compile(sources = SOURCES, isMeant = IS_NO_SPEC) {
  await Promise.all([
    write(join(OUTPUT, 'package.json'), '{ "type": "module" }'),
    write(
      join(OUTPUT, 'node_modules', 'nestjs-redis-lock', 'package.json'),
      '{ "type": "module", "exports": { ".": "./index.js", "./*": "./*.js" } }',
    ),
    ...(await entriesOf(join(ROOT, 'libs', 'redis-lock', 'src'))).map((entry) =>
      write(
        join(OUTPUT, 'node_modules', 'nestjs-redis-lock', entry),
        `export * from '../../libs/redis-lock/src/${entry}';`,
      ),
    ),
  ]);
  const folders = await Promise.all(
    sources.map((folder) => sourcesIn(join(ROOT, folder), isMeant)),
  );
  await Promise.all(folders.flat().map((file) => translate(file)));
}

/**
 * Applications import the files beside the rooms.
 * @param {string} library
 */
async function entriesOf(library) {
  const files = await readdir(library);
  return files.filter((file) => file.endsWith('.ts')).map((file) => file.replace(/ts$/, 'js'));
}

/**
 * @param {string} folder
 * @param {RegExp} isMeant
 * @returns {Promise<string[]>}
 */
async function sourcesIn(folder, isMeant) {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return ['dist', 'node_modules'].includes(entry.name) ? [] : sourcesIn(path, isMeant);
    return isMeant.test(entry.name) ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

/** @param {string} file */
async function translate(file) {
  const output = join(OUTPUT, relative(ROOT, file)).replace(/\.ts$/, '.js');
  const { mtime } = await stat(file);
  const known = await stat(output).catch(() => null);
  // Equal and not later: a checkout may put an older file in place.
  if (known && Math.abs(known.mtimeMs - mtime.getTime()) < 1) return;
  const source = await readFile(file, 'utf8');
  await write(output, file.endsWith('.ts') ? await toJavaScript(file, source) : source, mtime);
}

/**
 * @param {string} filename
 * @param {string} source
 */
async function toJavaScript(filename, source) {
  try {
    return (await transform(source, { ...swcOptions, filename })).code;
  } catch (error) {
    // It concerns only the process that needs this file.
    const name = relative(ROOT, filename).split(sep).join('/');
    return `throw new SyntaxError(${JSON.stringify(`${name}: ${String(error)}`)});`;
  }
}

/**
 * Several test runs may do this at once, and none may read half a file.
 * @param {string} file
 * @param {string} content
 * @param {Date} [mtime]
 */
export async function write(file, content, mtime = new Date()) {
  const draft = `${file}.${randomUUID()}.tmp`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(draft, content);
  await utimes(draft, new Date(), mtime);
  await rename(draft, file);
}
