// Looks for the histories in which planted bugs show:
// `node scripts/find-planted.mjs [--primitive lock] [--bug 'late grant'] [--write]`.
import { argv } from 'node:process';
import { compile, importCompiled } from './compile.mjs';

const SOURCE = new URL('../test/simulation/planted/main.ts', import.meta.url);

await compile(['libs', 'scripts', 'test']);
const finder = await importCompiled(SOURCE);
const { main } = /** @type {typeof import('../test/simulation/planted/main.js')} */ (finder);
process.exitCode = await main(argv.slice(2));
