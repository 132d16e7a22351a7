import type { LoadResult } from '../../apps/seckill-demo/src/arena/load-result.js';

/** A right sale of 100 pieces to 300 buyers, with whatever should differ. */
export function loadResult(difference: Partial<LoadResult>): LoadResult {
  return {
    strategy: 'redis-lock',
    processes: 1,
    stock: 100,
    buyers: 300,
    sold: 100,
    oversold: 0,
    undersold: 0,
    ledgerDifference: 0,
    refused: 200,
    failed: 0,
    ordersPerSecond: 612.4,
    p50Ms: 201.04,
    p99Ms: 350.06,
    outcome: 'exact',
    ...difference,
  };
}
