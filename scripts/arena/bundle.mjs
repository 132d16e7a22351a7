import { minify } from '@swc/core';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rollup } from 'rollup';

/** The playground shows the functions that it runs. */
const AS_WRITTEN = 'playground';

/** The folder of a package, and its name. The compiled sources are in one that begins with a dot. */
const PACKAGE = /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/.][^\\/]*)/;

/** @typedef {typeof import('../../apps/seckill-demo/src/web/page-files.js')} PageFiles */

/**
 * Writes the modules of the page as few small files: the first, and those that it loads later. The
 * licences of their packages, which a copy must have with it, stand beside them.
 * @param {string} entry the address of the first module
 * @param {ReadonlyMap<string, string>} files the modules, by address
 * @param {PageFiles['addressOf']} addressOf
 * @param {string} folder
 */
export async function writeBundle(entry, files, addressOf, folder) {
  const bundle = await rollup({
    input: entry,
    plugins: [
      {
        name: 'page',
        resolveId: (name, importer) => (importer ? addressOf(name, importer) : name),
        load: (address) => readFile(files.get(address) ?? address, 'utf8'),
        renderChunk: (code, { name }) =>
          name === AS_WRITTEN ? null : minify(code, { module: true, compress: true, mangle: true }),
      },
    ],
  });
  const name = entry.replace(/^\.\//, '');
  await bundle.write({
    dir: folder,
    entryFileNames: name,
    chunkFileNames: 'app/[name]-[hash].js',
    manualChunks: (address) => (address.endsWith(`/${AS_WRITTEN}/bundle.js`) ? AS_WRITTEN : null),
  });
  await bundle.close();
  await writeFile(join(folder, 'LICENSES.txt'), await licencesOf(files.values()));
}

/** @param {Iterable<string>} files */
async function licencesOf(files) {
  /** @type {Map<string, string>} */
  const folders = new Map();
  for (const file of files) {
    const [folder, name] = PACKAGE.exec(file) ?? [];
    if (folder !== undefined && name !== undefined) folders.set(name, folder);
  }
  const texts = [...folders].map(async ([name, folder]) => {
    return `${name}\n\n${await readFile(join(folder, 'LICENSE'), 'utf8')}`;
  });
  return (await Promise.all(texts)).join('\n');
}
