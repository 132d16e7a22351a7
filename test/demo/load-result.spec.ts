import { describe, expect, it } from '@jest/globals';
import { percentile, summarise } from '../../apps/seckill-demo/src/arena/load-result.js';
import type { LoadResult, LoadRun } from '../../apps/seckill-demo/src/arena/load-result.js';

interface Told {
  readonly sold?: number;
  readonly soldOut?: number;
  readonly busy?: number;
  readonly broken?: number;
}

/** Answers that come 10 ms apart, those of the sold first; the first comes at 10 ms. */
function run(told: Told, left: number, orders: number, stock = 10): LoadRun {
  const statuses = [
    ...Array.from({ length: told.sold ?? 0 }, () => 201),
    ...Array.from({ length: told.soldOut ?? 0 }, () => 410),
    ...Array.from({ length: told.busy ?? 0 }, () => 423),
    ...Array.from({ length: told.broken ?? 0 }, () => 500),
  ];
  return {
    strategy: 'naive',
    processes: 1,
    stock,
    openedAt: 1_000,
    answers: statuses.map((status, index) => {
      const body = JSON.stringify({ remaining: 1_000 - index });
      return { status, body, servedBy: 1, at: 1_010 + index * 10 };
    }),
    state: { id: '1', stock: left, openingStock: stock, orders, states: {} },
  };
}

describe('summarise', () => {
  it.each<[string, LoadRun, Partial<LoadResult>]>([
    [
      'a sale that is right',
      run({ sold: 10, soldOut: 5 }, 0, 10),
      { sold: 10, refused: 5, outcome: 'exact' },
    ],
    [
      'more buyers served than pieces there were',
      run({ sold: 15 }, 7, 15),
      { oversold: 5, undersold: 0, ledgerDifference: 12, outcome: 'oversells' },
    ],
    [
      'buyers turned away while there was stock',
      run({ sold: 3, busy: 12 }, 7, 3),
      { oversold: 0, undersold: 7, refused: 12, outcome: 'undersells' },
    ],
    [
      'fewer buyers than pieces, none turned away',
      run({ sold: 4 }, 6, 4),
      { undersold: 0, outcome: 'exact' },
    ],
    [
      'fewer buyers than pieces, some turned away',
      run({ sold: 4, busy: 2 }, 6, 4),
      { undersold: 2, outcome: 'undersells' },
    ],
    [
      'a counter that lost a sale',
      run({ sold: 4 }, 7, 4),
      { ledgerDifference: 1, outcome: 'miscounts' },
    ],
    [
      'buyers without an answer',
      run({ sold: 10, broken: 2 }, 0, 10),
      { failed: 2, refused: 0, outcome: 'breaks' },
    ],
  ])('tells %s', (_, given, expected) => {
    expect(summarise(given)).toMatchObject(expected);
  });

  it('counts orders per second until the last order, and latencies of all buyers', () => {
    const result = summarise(run({ sold: 10, soldOut: 10 }, 0, 10));
    expect(result).toMatchObject({ ordersPerSecond: 100, p50Ms: 100, p99Ms: 200 });
  });

  it('counts pairs that bought in another order than they came, if each bought another piece', () => {
    const bought = (...left: number[]): LoadRun => ({
      ...run({ sold: left.length }, 0, left.length),
      answers: left.map((remaining, index) => {
        return { status: 201, body: JSON.stringify({ remaining }), servedBy: 1, at: 1_000 + index };
      }),
    });
    const overtakenBy = (...left: number[]) => summarise(bought(...left)).overtaken;
    expect(overtakenBy(3, 2, 1, 0)).toBe(0);
    expect(overtakenBy(0, 1, 2, 3)).toBe(100);
    expect(overtakenBy(2, 3, 1, 0)).toBe(16.7);
    expect(overtakenBy(3, 3, 2)).toBeUndefined();
    expect(overtakenBy(9)).toBeUndefined();
  });

  it('shares the commands of Redis among all who ordered', () => {
    const served = run({ sold: 10, soldOut: 10 }, 0, 10);
    expect(summarise({ ...served, commands: 155 }).commandsPerOrder).toBe(7.8);
    expect(summarise(served).commandsPerOrder).toBeUndefined();
  });

  it('rounds to one decimal', () => {
    const { openedAt, ...rest } = run({ sold: 3 }, 7, 3);
    const result = summarise({ ...rest, openedAt: openedAt - 0.123 });
    expect(result).toMatchObject({ ordersPerSecond: 99.6, p50Ms: 20.1, p99Ms: 30.1 });
  });

  it('has no speed where nothing was sold', () => {
    expect(summarise(run({ busy: 3 }, 10, 0)).ordersPerSecond).toBe(0);
  });
});

describe('percentile', () => {
  it.each([
    [[7], 0.5, 7],
    [[1, 2, 3, 4], 0.5, 2],
    [[1, 2, 3, 4], 0.99, 4],
    [Array.from({ length: 200 }, (_, index) => index + 1), 0.99, 198],
    [[], 0.5, 0],
  ])('is a value that was seen', (sorted, share, value) => {
    expect(percentile(sorted, share)).toBe(value);
  });
});
