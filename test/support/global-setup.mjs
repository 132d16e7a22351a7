import { randomInt } from 'node:crypto';
import { compile } from '../../scripts/compile.mjs';
import { bundlePlayground } from '../../scripts/playground.mjs';

export default async function globalSetup() {
  // One seed for the whole run, said first; workers and their children inherit it.
  process.env.LOCK_SEED ||= String(randomInt(2 ** 31));
  process.stderr.write(`LOCK_SEED=${process.env.LOCK_SEED}\n`);
  await compile();
  await bundlePlayground();
}
