// Changes the Lua of the library in one place at a time, and looks whether a spec or the simulation
// finds it: `npm run mutate -- --script lock.release`.
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { declaredScripts } from './library/scripts.mjs';
import { prepare } from './prepare.mjs';

const SOURCE = new URL('../test/mutation/main.ts', import.meta.url);
const FOLDER = join(
  fileURLToPath(new URL('..', import.meta.url)),
  'node_modules',
  '.cache',
  'mutation',
);

await prepare({});
const { compile, importCompiled } = await import('./compile.mjs');
await compile(['libs', 'scripts', 'test'], /(?<!\.d)\.ts$|\.mjs$/);
const scripts = await declaredScripts(importCompiled);
const mutation = await importCompiled(SOURCE);
const { main } = /** @type {typeof import('../test/mutation/main.js')} */ (mutation);
process.exitCode = await main(
  argv.slice(2),
  /** @type {import('../test/testing/script-calls.js').NamedScript[]} */ (scripts),
  FOLDER,
);
