import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { EXPECTED, mismatchesOf } from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import type { FaultResult } from '../../apps/seckill-demo/src/arena/fault.js';
import type { LoadOutcome, LoadResult } from '../../apps/seckill-demo/src/arena/load-result.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import type { StrategyName } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { loadResult } from './sample-results.js';

const load = (strategy: StrategyName, processes: number, outcome: LoadOutcome): LoadResult =>
  loadResult({ strategy, processes, outcome });

const allLoads = STRATEGY_NAMES.flatMap((strategy) => [
  load(strategy, 1, EXPECTED[strategy].oneProcess),
  load(strategy, 2, EXPECTED[strategy].severalProcesses),
]);
const allFaults = STRATEGY_NAMES.flatMap((strategy) =>
  FAULT_NAMES.map((fault): FaultResult => {
    return { strategy, fault, outcome: EXPECTED[strategy].faults[fault] };
  }),
);

describe('mismatchesOf', () => {
  it('finds nothing where every stage does as the matrix says', () => {
    expect(mismatchesOf(allLoads, allFaults)).toEqual([]);
  });

  it.each([
    ['naive', 1, 'exact', 'oversells'],
    ['in-process', 1, 'oversells', 'exact'],
    ['in-process', 2, 'exact', 'oversells'],
    ['setnx', 2, 'exact', 'undersells'],
    ['redis-lock', 4, 'undersells', 'exact'],
    ['redis-lock', 2, 'miscounts', 'exact'],
    ['lua-release', 1, 'breaks', 'undersells'],
  ] as const)('reports %s with %d processes when it %s', (strategy, processes, saw, expected) => {
    const result = load(strategy, processes, saw);
    expect(mismatchesOf([result], [])).toEqual([{ kind: 'load', expected, result }]);
  });

  it('reports each fault that was expected and did not show', () => {
    for (const shown of allFaults) {
      if (shown.outcome === 'ok') continue;
      const result: FaultResult = { ...shown, outcome: 'ok' };
      const mismatch = { kind: 'fault', expected: shown.outcome, result };
      expect(mismatchesOf([], [result])).toEqual([mismatch]);
    }
  });

  it('reports a fault that redis-lock did not pass', () => {
    for (const fault of FAULT_NAMES) {
      const result: FaultResult = { strategy: 'redis-lock', fault, outcome: 'oversold' };
      expect(mismatchesOf([], [result])).toHaveLength(1);
    }
  });

  it('asks only for what was run', () => {
    expect(mismatchesOf([], [])).toEqual([]);
    expect(mismatchesOf(allLoads.slice(0, 1), allFaults.slice(-1))).toEqual([]);
  });
});

describe('EXPECTED', () => {
  it('lets redis-lock pass every fault and sell exactly the stock', () => {
    const { oneProcess, severalProcesses, faults } = EXPECTED['redis-lock'];
    expect([oneProcess, severalProcesses]).toEqual(['exact', 'exact']);
    for (const outcome of Object.values(faults)) expect(['ok', 'refused']).toContain(outcome);
  });

  it('lets every other stage fail at something', () => {
    for (const strategy of STRATEGY_NAMES.filter((name) => name !== 'redis-lock')) {
      const { oneProcess, severalProcesses } = EXPECTED[strategy];
      expect([oneProcess, severalProcesses]).not.toEqual(['exact', 'exact']);
    }
  });

  it('is the matrix of the README', async () => {
    const readme = new URL('../../apps/seckill-demo/README.md', import.meta.url);
    const rows = (await readFile(readme, 'utf8'))
      .split('\n')
      .filter((row) => row.startsWith('| `'));
    const shown = (outcome: string) => (outcome === 'none' ? '-' : outcome.replace('-', ' '));
    for (const strategy of STRATEGY_NAMES) {
      const { oneProcess, severalProcesses, faults } = EXPECTED[strategy];
      const cells = [oneProcess, severalProcesses, ...FAULT_NAMES.map((fault) => faults[fault])];
      const row = rows.find((text) => text.startsWith(`| \`${strategy}\` `)) ?? '';
      const written = row.split('|').map((cell) => cell.trim());
      expect(written.slice(2, -1)).toEqual(cells.map(shown));
    }
  });
});
