// Runs before anything is installed: Node built-ins only.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '../apps/seckill-demo/src/options/command-line.mjs';

const SETUP = fileURLToPath(new URL('setup.mjs', import.meta.url));
const BUILT = new URL('../dist/apps/seckill-demo/apps/seckill-demo/src/demo.js', import.meta.url);

const options = readCommandLine();
if (options !== undefined) {
  const { status } = spawnSync(process.execPath, [SETUP, '--demo'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  /** @type {unknown} */
  const built = await import(BUILT.href);
  const { main } = /** @type {typeof import('../apps/seckill-demo/src/demo.js')} */ (built);
  process.exit(await main(options));
}
