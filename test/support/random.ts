import { Random } from '../../libs/world/src/random.js';

export { Random };

/** The stream of one spec, from the seed of the run: `LOCK_SEED=… npm test` replays its draws. */
export function seededRandom(label: string): Random {
  const seed = process.env.LOCK_SEED;
  if (!seed) throw new Error('LOCK_SEED is not set; test/support/global-setup.mjs does it');
  return new Random(seed).fork(label);
}
