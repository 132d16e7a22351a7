import { minify } from '@swc/core';
import { readFile } from 'node:fs/promises';
import { rollup } from 'rollup';

/** The playground shows the functions that it runs. */
const AS_WRITTEN = 'playground';

/** @typedef {typeof import('../../apps/seckill-demo/src/web/page-files.js')} PageFiles */

/**
 * Writes the modules of the page as few small files: the first, and those that it loads later.
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
}
