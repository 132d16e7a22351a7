// Writes the page into a folder for any static server. There it replays the recorded run. With
// --site, the docs are one folder above.
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { compile, importCompiled } from '../compile.mjs';
import { writeBundle } from './bundle.mjs';
import { bundlePlayground } from '../playground.mjs';
import { RECORDING } from './recording.mjs';

const OUTPUT = fileURLToPath(new URL('../../dist/arena', import.meta.url));
const SOURCES = new URL('../../apps/seckill-demo/src/', import.meta.url);

await compile(['apps', 'libs']);
await bundlePlayground();
const load = (/** @type {string} */ file) => importCompiled(new URL(file, SOURCES));
const { PAGE_ENTRY, pageHtml, RECORDED_RUN } =
  /** @type {typeof import('../../apps/seckill-demo/src/page/page-html.js')} */ (
    await load('page/page-html.ts')
  );
const { addressOf, pageFiles } =
  /** @type {typeof import('../../apps/seckill-demo/src/web/page-files.js')} */ (
    await load('web/page-files.ts')
  );

rmSync(OUTPUT, { recursive: true, force: true });
await writeBundle(PAGE_ENTRY, await pageFiles(), addressOf, OUTPUT);
writeFileSync(
  join(OUTPUT, 'index.html'),
  pageHtml({ run: RECORDED_RUN, ...(argv.includes('--site') && { docs: '../' }) }),
);
cpSync(RECORDING, join(OUTPUT, RECORDED_RUN));
console.log(`The page is in ${OUTPUT}: serve it with any static server.`);
