import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import {
  cellsOf,
  EXPECTED,
  EXPECTED_PARTS,
  mismatchesOf,
} from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import type { FaultResult } from '../../apps/seckill-demo/src/arena/fault.js';
import type { LoadOutcome, LoadResult } from '../../apps/seckill-demo/src/arena/load-result.js';
import { PART_NAMES } from '../../apps/seckill-demo/src/arena/parts/part.js';
import type { PartResult } from '../../apps/seckill-demo/src/arena/parts/part.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import type { StrategyName } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { loadResult, PARTS } from './sample-results.js';

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

const nothing = { loads: [], faults: [], parts: [] };

describe('mismatchesOf', () => {
  it('finds nothing where every stage and part does as expected', () => {
    const all = { loads: allLoads, faults: allFaults, parts: PARTS };
    expect(mismatchesOf(all)).toEqual([]);
    const cells = STRATEGY_NAMES.length * (2 + FAULT_NAMES.length) + 8;
    expect(cellsOf(all)).toBe(cells);
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
    expect(mismatchesOf({ ...nothing, loads: [result] })).toEqual([
      { kind: 'load', expected, result },
    ]);
  });

  it('reports each fault that was expected and did not show', () => {
    for (const shown of allFaults) {
      if (shown.outcome === 'ok') continue;
      const result: FaultResult = { ...shown, outcome: 'ok' };
      const mismatch = { kind: 'fault', expected: shown.outcome, result };
      expect(mismatchesOf({ ...nothing, faults: [result] })).toEqual([mismatch]);
    }
  });

  it('reports a fault that redis-lock did not pass', () => {
    for (const fault of FAULT_NAMES) {
      const result: FaultResult = { strategy: 'redis-lock', fault, outcome: 'oversold' };
      expect(mismatchesOf({ ...nothing, faults: [result] })).toHaveLength(1);
    }
  });

  it('asks only for what was run', () => {
    expect(mismatchesOf(nothing)).toEqual([]);
    const some = { loads: allLoads.slice(0, 1), faults: allFaults.slice(-1), parts: [] };
    expect(mismatchesOf(some)).toEqual([]);
    expect(cellsOf(some)).toBe(2);
  });

  it('reports a part whose lock did not help, and one that did without it', () => {
    for (const result of PARTS) {
      const outcome = result.outcome === 'ok' ? 'torn' : 'ok';
      const parts: PartResult[] = [{ ...result, outcome }];
      const expected = EXPECTED_PARTS[result.part][result.withLock ? 'withLock' : 'withoutLock'];
      const mismatch = { kind: 'part', expected, result: parts[0] };
      expect(mismatchesOf({ ...nothing, parts })).toEqual(expected === undefined ? [] : [mismatch]);
    }
  });

  it('takes the order that a plain lock across processes gives as it comes', () => {
    const plain = PARTS.find(({ part, withLock }) => part === 'queue' && !withLock);
    expect(plain?.outcome).toBe('overtakes');
    const parts: PartResult[] = plain === undefined ? [] : [{ ...plain, outcome: 'ok' }];
    expect(mismatchesOf({ ...nothing, parts })).toEqual([]);
    expect(cellsOf({ ...nothing, parts })).toBe(0);
  });
});

describe('EXPECTED', () => {
  it.each(['redis-lock', 'fair'] as const)(
    'lets %s pass every fault and sell exactly the stock',
    (ours) => {
      const { oneProcess, severalProcesses, faults } = EXPECTED[ours];
      expect([oneProcess, severalProcesses]).toEqual(['exact', 'exact']);
      for (const outcome of Object.values(faults)) expect(['ok', 'refused']).toContain(outcome);
    },
  );

  it('lets every other stage fail at something', () => {
    for (const strategy of STRATEGY_NAMES) {
      if (strategy === 'redis-lock' || strategy === 'fair') continue;
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

  it('expects of each part what the README says', async () => {
    const readme = new URL('../../apps/seckill-demo/README.md', import.meta.url);
    const rows = (await readFile(readme, 'utf8')).split('\n');
    for (const part of PART_NAMES) {
      const row = rows.find((text) => text.startsWith(`| \`${part}\` `)) ?? '';
      const written = row.split('|').map((cell) => cell.trim());
      const { withoutLock = '', withLock } = EXPECTED_PARTS[part];
      expect(written.at(-3)).toContain(withoutLock);
      expect(written.at(-2)).toContain(withLock);
    }
  });
});
