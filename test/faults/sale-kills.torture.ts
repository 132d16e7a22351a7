import { describe, expect, it } from '@jest/globals';
import { seededRandom, useRealRedis, useWorkers } from '../support/set-up.js';
import { killShop } from './support/sale/kills.js';

const KILLS = Number(process.env.SALE_KILLS ?? 1_000);

describe('the real sale', () => {
  const redis = useRealRedis();
  const workers = useWorkers();

  it(`loses nothing while its processes are killed ${KILLS} times`, async () => {
    const random = seededRandom('torture of the sale');
    expect(await killShop({ kills: KILLS, workers, redis, random })).toEqual([]);
  });
});
