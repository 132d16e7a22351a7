import { describe, expect, it } from '@jest/globals';
import { seededRandom, useRealRedis, useWorkers } from '../support/set-up.js';
import { killShop } from './support/sale/kills.js';

/** `npm run torture -- sale` has a thousand. */
const KILLS = 6;
/** Each kill has a process started, which takes seconds on a busy machine. */
const PATIENCE_MS = 400_000;

describe('the real sale', () => {
  const redis = useRealRedis();
  const workers = useWorkers();

  it(
    `loses nothing while its processes are killed ${KILLS} times, and Redis with its data`,
    async () => {
      const random = seededRandom('sale kills');
      expect(await killShop({ kills: KILLS, workers, redis, random })).toEqual([]);
    },
    PATIENCE_MS,
  );
});
