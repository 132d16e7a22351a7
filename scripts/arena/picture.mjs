// Makes the pictures of the documents from the recorded run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile, importCompiled } from '../compile.mjs';
import { RECORDING, stepsIn } from './recording.mjs';

const OUTPUT = fileURLToPath(new URL('../../apps/seckill-demo/pictures', import.meta.url));
const SOURCE = new URL('../../apps/seckill-demo/src/picture/pictures.ts', import.meta.url);

await compile(['apps']);
const loaded = await importCompiled(SOURCE);
const { picturesOf } =
  /** @type {typeof import('../../apps/seckill-demo/src/picture/pictures.js')} */ (loaded);

mkdirSync(OUTPUT, { recursive: true });
for (const [name, picture] of picturesOf(stepsIn(RECORDING)))
  writeFileSync(join(OUTPUT, name), picture);
