// Writes the page into a folder for any static server. There it replays the recorded run.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { RECORDING } from './recording.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILT = join(ROOT, 'dist/apps/seckill-demo/apps/seckill-demo/src');
const OUTPUT = join(ROOT, 'dist/arena');
const RUN = 'run.ndjson';

/**
 * @param {string} file
 * @returns {Promise<any>}
 */
const built = (file) => import(pathToFileURL(join(BUILT, file)).href);
/** @type {typeof import('../../apps/seckill-demo/src/page/page-html.js')} */
const { pageHtml } = await built('page/page-html.js');
/** @type {typeof import('../../apps/seckill-demo/src/web/page-files.js')} */
const { pageFiles } = await built('web/page-files.js');

rmSync(OUTPUT, { recursive: true, force: true });
for (const [address, file] of await pageFiles()) {
  const copy = join(OUTPUT, address);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(file, copy);
}
writeFileSync(join(OUTPUT, 'index.html'), pageHtml({ run: RUN }));
cpSync(RECORDING, join(OUTPUT, RUN));
console.log(`The page is in ${OUTPUT}: serve it with any static server.`);
