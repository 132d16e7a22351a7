import type { LoadResult } from '../../apps/seckill-demo/src/arena/load-result.js';
import type { PartResult } from '../../apps/seckill-demo/src/arena/parts/part.js';

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

/** Every part as it is expected; a plain lock mixes up the queue. */
export const PARTS: readonly PartResult[] = [
  { part: 'queue', withLock: false, outcome: 'overtakes', buyers: 20, inversions: 190 },
  { part: 'queue', withLock: true, outcome: 'ok', buyers: 20, inversions: 0 },
  { part: 'opening', withLock: true, outcome: 'ok', processes: 16, early: 0, sold: 16 },
  { part: 'payment', withLock: false, outcome: 'overloads', paid: 5, refused: 15, inside: 5 },
  { part: 'payment', withLock: true, outcome: 'ok', paid: 20, refused: 0, inside: 5 },
  { part: 'offer', withLock: false, outcome: 'torn', readers: 12, together: 12, torn: 12 },
  { part: 'offer', withLock: true, outcome: 'ok', readers: 12, together: 12, torn: 0 },
  { part: 'cart', withLock: false, outcome: 'deadlock', sold: 1, soldOut: 0, stuck: 1 },
  { part: 'cart', withLock: true, outcome: 'ok', sold: 30, soldOut: 10, stuck: 0 },
  { part: 'ticket', withLock: false, outcome: 'leaks', limit: 5, letIn: 10, sentAway: 2 },
  { part: 'ticket', withLock: true, outcome: 'ok', limit: 5, letIn: 5, sentAway: 7 },
  { part: 'report', withLock: false, outcome: 'repeats', processes: 2, runs: 2 },
  { part: 'report', withLock: true, outcome: 'ok', processes: 2, runs: 1 },
  { part: 'fence', withLock: false, outcome: 'stale-write', price: 9_900 },
  { part: 'fence', withLock: true, outcome: 'refused', price: 4_900 },
];
