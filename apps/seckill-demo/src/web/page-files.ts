import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inRepository } from '../arena/sources.js';
import { PAGE_ENTRY, PAGE_IMPORTS, RECORDED_RUN } from '../page/page-html.js';

const SOURCES = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g;
const PACKAGE = /^\.\/modules\/((?:@[^/]+\/)?[^/]+)\/(.+)$/;

/**
 * The files of the page by their addresses: the recorded run, the first module, and all
 * modules that it imports. The server serves no other files.
 */
export async function pageFiles(sources = SOURCES): Promise<ReadonlyMap<string, string>> {
  const recording = inRepository('apps/seckill-demo/recordings/run.ndjson');
  const files = new Map([[`./${RECORDED_RUN}`, recording]]);
  const open = [PAGE_ENTRY];
  for (let address = open.pop(); address !== undefined; address = open.pop()) {
    if (files.has(address)) continue;
    const file = fileOf(address, sources);
    files.set(address, file);
    for (const [, name = ''] of (await readFile(file, 'utf8')).matchAll(IMPORT)) {
      const imported = addressOf(name, address);
      if (imported !== undefined) open.push(imported);
    }
  }
  return files;
}

/** Resolved as in a browser, by the import map. Texts that only look like an import lead nowhere. */
export function addressOf(name: string, importer: string): string | undefined {
  if (name.startsWith('.')) return `./${posix.join(dirname(importer), name)}`;
  const exact = PAGE_IMPORTS[name];
  if (exact !== undefined) return exact;
  const prefix = Object.keys(PAGE_IMPORTS).find((one) => one.endsWith('/') && name.startsWith(one));
  return prefix && `${PAGE_IMPORTS[prefix] ?? ''}${name.slice(prefix.length)}`;
}

function fileOf(address: string, sources: string): string {
  const [, name, path] = PACKAGE.exec(address) ?? [];
  if (name === undefined || path === undefined)
    return join(sources, address.slice('./app/'.length));
  return join(folderOf(name), path);
}

/** A package may hide its manifest, but not the file that its name resolves to. */
function folderOf(name: string): string {
  const { resolve } = createRequire(import.meta.url);
  let folder = dirname(resolve(name));
  while (!folder.endsWith(join('node_modules', ...name.split('/')))) folder = dirname(folder);
  return folder;
}
