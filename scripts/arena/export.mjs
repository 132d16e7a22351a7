// Writes the page into a folder for any static server. There it replays the recorded run.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RECORDING } from './recording.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = join(ROOT, 'dist/apps/seckill-demo/apps/seckill-demo/src');
const OUTPUT = join(ROOT, 'dist/arena');
const RUN = 'run.ndjson';

const load = (/** @type {string} */ file) =>
  /** @type {Promise<unknown>} */ (import(pathToFileURL(join(BUILT, file)).href));
const { pageHtml } = /** @type {typeof import('../../apps/seckill-demo/src/page/page-html.js')} */ (
  await load('page/page-html.js')
);
const { pageFiles } =
  /** @type {typeof import('../../apps/seckill-demo/src/web/page-files.js')} */ (
    await load('web/page-files.js')
  );

rmSync(OUTPUT, { recursive: true, force: true });
for (const [address, file] of await pageFiles()) {
  const copy = join(OUTPUT, address);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(file, copy);
}
writeFileSync(join(OUTPUT, 'index.html'), pageHtml({ run: RUN }));
cpSync(RECORDING, join(OUTPUT, RUN));
console.log(`The page is in ${OUTPUT}: serve it with any static server.`);
