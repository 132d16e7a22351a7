import { main } from '../../apps/seckill-demo/src/demo.js';
import { readCommandLine } from '../../apps/seckill-demo/src/options/command-line.mjs';

// scripts/demo.mjs does this after the build.
const options = readCommandLine();
if (options !== undefined) process.exit(await main(options));
