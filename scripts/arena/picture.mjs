// Makes the pictures of the documents from the recorded run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compile, compiled } from '../compile.mjs';
import { RECORDING } from './recording.mjs';

/** @typedef {import('../../apps/seckill-demo/src/arena/step.js').Step} Step */

const OUTPUT = fileURLToPath(new URL('../../apps/seckill-demo/pictures', import.meta.url));
const SOURCE = new URL('../../apps/seckill-demo/src/picture/pictures.ts', import.meta.url);

await compile(['apps']);
/** @type {unknown} */
const loaded = await import(pathToFileURL(compiled(SOURCE)).href);
const { picturesOf } =
  /** @type {typeof import('../../apps/seckill-demo/src/picture/pictures.js')} */ (loaded);

const lines = readFileSync(RECORDING, 'utf8').trimEnd().split('\n');
const run = lines.map((line) => {
  /** @type {unknown} */
  const step = JSON.parse(line);
  return /** @type {Step} */ (step);
});
mkdirSync(OUTPUT, { recursive: true });
for (const [name, picture] of picturesOf(run)) writeFileSync(join(OUTPUT, name), picture);
