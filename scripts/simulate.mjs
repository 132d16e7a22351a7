// Runs histories in simulated time: `npm run simulate -- --primitive fair --seed 1 --sections 10000`.
import { argv } from 'node:process';
import { prepare } from './prepare.mjs';

const SOURCE = new URL('../test/simulation/main.ts', import.meta.url);

await prepare({});
const { compile, importCompiled } = await import('./compile.mjs');
await compile(['libs', 'scripts', 'test']);
const simulation = await importCompiled(SOURCE);
const { main } = /** @type {typeof import('../test/simulation/main.js')} */ (simulation);
process.exitCode = await main(argv.slice(2));
