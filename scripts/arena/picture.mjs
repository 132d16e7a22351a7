// Makes the pictures of the documents from the recorded run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compile, compiled } from '../compile.mjs';
import { RECORDING, stepsIn } from './recording.mjs';

const OUTPUT = fileURLToPath(new URL('../../apps/seckill-demo/pictures', import.meta.url));
const SOURCE = new URL('../../apps/seckill-demo/src/picture/pictures.ts', import.meta.url);

await compile(['apps']);
/** @type {unknown} */
const loaded = await import(pathToFileURL(compiled(SOURCE)).href);
const { picturesOf } =
  /** @type {typeof import('../../apps/seckill-demo/src/picture/pictures.js')} */ (loaded);

mkdirSync(OUTPUT, { recursive: true });
for (const [name, picture] of picturesOf(stepsIn(RECORDING)))
  writeFileSync(join(OUTPUT, name), picture);
