import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { duelCell, faultCell, partCell, rushCell } from '../../apps/seckill-demo/src/arena/cell.js';
import type { Cell, Outcome } from '../../apps/seckill-demo/src/arena/cell.js';
import {
  EXPECTED,
  EXPECTED_PARTS,
  expectedOf,
} from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import { PART_NAMES } from '../../apps/seckill-demo/src/arena/parts/part.js';
import { reportFrom } from '../../apps/seckill-demo/src/arena/report.js';
import type { CellEnded } from '../../apps/seckill-demo/src/arena/step.js';
import { outcomeWords } from '../../apps/seckill-demo/src/page/words.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { PARTS } from './sample-results.js';

const ended = (cell: Cell, outcome: Outcome): CellEnded => {
  const expected = expectedOf(cell);
  const result = { ...cell, outcome } as unknown as CellEnded['result'];
  return { kind: 'cell-ended', cell: cell.id, outcome, expected, result };
};

const LOADS = STRATEGY_NAMES.flatMap((name) => [rushCell(name, 1), rushCell(name, 2)]);
const FAULTS = STRATEGY_NAMES.flatMap((name) => FAULT_NAMES.map((fault) => faultCell(name, fault)));
const PART_CELLS = PARTS.map(({ part, withLock }) => partCell(part, withLock));
const asExpected = (cell: Cell): CellEnded => ended(cell, expectedOf(cell) ?? 'overtakes');

describe('the cells of a run', () => {
  it('are as published, and one part is only measured', () => {
    const report = reportFrom([...LOADS, ...FAULTS, ...PART_CELLS].map(asExpected), 1);
    expect(report.mismatches).toEqual([]);
    expect(report.compared).toBe(STRATEGY_NAMES.length * (2 + FAULT_NAMES.length) + 14);
    expect(report.measured).toBe(1);
  });

  it.each([
    ['naive', 1, 'exact', 'oversells'],
    ['in-process', 1, 'oversells', 'exact'],
    ['in-process', 2, 'exact', 'oversells'],
    ['setnx', 2, 'exact', 'undersells'],
    ['redis-lock', 4, 'undersells', 'exact'],
    ['redis-lock', 2, 'miscounts', 'exact'],
    ['lua-release', 1, 'breaks', 'undersells'],
  ] as const)('are not when %s with %d processes %s', (strategy, processes, outcome, expected) => {
    const cell = rushCell(strategy, processes);
    expect(reportFrom([ended(cell, outcome)], 1).mismatches).toEqual([{ cell, expected, outcome }]);
  });

  it('are not when a fault that was expected does not show', () => {
    for (const cell of FAULTS) {
      const expected = expectedOf(cell);
      if (expected === 'ok') continue;
      const mismatch = { cell, expected, outcome: 'ok' };
      expect(reportFrom([ended(cell, 'ok')], 1).mismatches).toEqual([mismatch]);
    }
  });

  it('are not when redis-lock fails at a fault', () => {
    for (const fault of FAULT_NAMES) {
      const { mismatches } = reportFrom([ended(faultCell('redis-lock', fault), 'oversold')], 1);
      expect(mismatches).toHaveLength(1);
    }
  });

  it('are not when a part does not need its lock, or fails with it', () => {
    for (const cell of PART_CELLS) {
      const expected = expectedOf(cell);
      const outcome = expected === 'ok' ? 'torn' : 'ok';
      const { mismatches } = reportFrom([ended(cell, outcome)], 1);
      expect(mismatches).toHaveLength(expected === undefined ? 0 : 1);
    }
  });

  it('leave the order of a plain lock across processes open', () => {
    const { compared, measured } = reportFrom([ended(partCell('queue', false), 'ok')], 1);
    expect([compared, measured]).toEqual([0, 1]);
  });

  it('leave the duel out: it is watched, and not measured', () => {
    const { compared, loads } = reportFrom([asExpected(duelCell('naive', 2))], 1);
    expect([compared, loads]).toEqual([0, []]);
  });
});

describe('EXPECTED', () => {
  it.each(['redis-lock', 'fair', 'fenced'] as const)(
    'lets %s pass every fault and sell exactly the stock',
    (ours) => {
      const { oneProcess, severalProcesses, faults } = EXPECTED[ours];
      expect([oneProcess, severalProcesses]).toEqual(['exact', 'exact']);
      for (const outcome of Object.values(faults)) expect(['ok', 'refused']).toContain(outcome);
    },
  );

  it('lets every stage before redis-lock fail in the rush, and the lock in the wrong place', () => {
    const stages = STRATEGY_NAMES.slice(0, STRATEGY_NAMES.indexOf('redis-lock'));
    for (const strategy of [...stages, 'lock-in-tx'] as const) {
      expect(EXPECTED[strategy].severalProcesses).not.toBe('exact');
    }
  });

  const READMES = [
    ['README.md', 'en'],
    ['README.zh-CN.md', 'zh'],
  ] as const;
  /** The cells of the row of a table that has this name. */
  async function rowOf(readme: string, name: string): Promise<string[]> {
    const file = new URL(`../../apps/seckill-demo/${readme}`, import.meta.url);
    const rows = (await readFile(file, 'utf8')).split('\n');
    const row = rows.find((text) => text.startsWith(`| \`${name}\` `)) ?? '';
    return row.split('|').map((cell) => cell.trim());
  }

  it.each(READMES)('is the matrix of %s', async (readme, language) => {
    const shown = (outcome: Outcome) =>
      outcome === 'none' ? '-' : outcomeWords[language][outcome];
    for (const strategy of STRATEGY_NAMES) {
      const { oneProcess, severalProcesses, faults } = EXPECTED[strategy];
      const cells = [oneProcess, severalProcesses, ...FAULT_NAMES.map((fault) => faults[fault])];
      const written = await rowOf(readme, strategy);
      expect(written.slice(2, -1)).toEqual(cells.map(shown));
    }
  });

  it.each(READMES)('expects of each part what %s says', async (readme, language) => {
    const shown = (outcome: Outcome | undefined) =>
      outcome === undefined ? '' : outcomeWords[language][outcome];
    for (const part of PART_NAMES) {
      const written = await rowOf(readme, part);
      const { withoutLock, withLock } = EXPECTED_PARTS[part];
      expect(written.at(-3)).toContain(shown(withoutLock));
      expect(written.at(-2)).toContain(shown(withLock));
    }
  });
});
