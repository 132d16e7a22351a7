// Runs before anything is installed: Node built-ins only.
import { readCommandLine } from '../apps/seckill-demo/src/options/command-line.mjs';
import { prepare } from './prepare.mjs';

const SOURCE = new URL('../apps/seckill-demo/src/demo.ts', import.meta.url);

const options = readCommandLine();
if (options !== undefined) {
  const { REDIS_URL, DATABASE_URL } = process.env;
  await prepare({ demo: true, redis: !REDIS_URL, postgres: !DATABASE_URL });
  const { importCompiled } = await import('./compile.mjs');
  const demo = await importCompiled(SOURCE);
  const { main } = /** @type {typeof import('../apps/seckill-demo/src/demo.js')} */ (demo);
  process.exit(await main(options));
}
