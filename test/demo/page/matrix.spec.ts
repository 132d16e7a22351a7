import { describe, expect, it } from '@jest/globals';
import { duelCell, faultCell, rushCell } from '../../../apps/seckill-demo/src/arena/cell.js';
import { comparisonsOf } from '../../../apps/seckill-demo/src/page/matrix/comparison.js';
import { matrixOf } from '../../../apps/seckill-demo/src/page/matrix/model.js';
import { initialState, reduce } from '../../../apps/seckill-demo/src/page/state.js';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { loadResult } from '../sample-results.js';

describe('the matrix', () => {
  it('has a row for each strategy, and a column for each crowd and each fault that are played', () => {
    const cells = [
      duelCell('naive', 2),
      rushCell('setnx', 2),
      rushCell('setnx', 1),
      faultCell('setnx', 'frozen'),
      faultCell('fair', 'slow-work'),
    ];
    const { columns, rows } = matrixOf(cells);
    expect(columns).toEqual([
      { kind: 'rush', processes: 1 },
      { kind: 'rush', processes: 2 },
      { kind: 'fault', fault: 'slow-work' },
      { kind: 'fault', fault: 'frozen' },
    ]);
    expect(rows.map(({ strategy, cells: row }) => [strategy, row.map((cell) => cell?.id)])).toEqual(
      [
        ['setnx', ['rush/setnx/1', 'rush/setnx/2', undefined, 'fault/setnx/frozen']],
        ['fair', [undefined, undefined, 'fault/fair/slow-work', undefined]],
      ],
    );
  });
});

describe('the comparison', () => {
  const cells = [
    duelCell('fair', 2),
    ...[rushCell('setnx', 2), rushCell('setnx', 1), rushCell('fair', 2)],
    faultCell('fair', 'frozen'),
  ];
  const began: Step = {
    kind: 'run-began',
    at: 0,
    ...{ stock: 100, buyers: 300, processes: 2, cells, sources: {} },
    versions: { node: '20', redis: '7' },
  };
  const result = { kind: 'rush', ...loadResult({ commandsPerOrder: 6.5, overtaken: 0 }) } as const;
  const page = [
    began,
    { kind: 'cell-began', at: 1, cell: 'rush/setnx/2' } as const,
    { kind: 'cell-ended', at: 2, cell: 'rush/fair/2', outcome: 'exact', result } as const,
  ].reduce(reduce, initialState);

  it('has the rushes of each number of processes, and their figures once they have ended', () => {
    const [alone, several, ...others] = comparisonsOf(page);
    expect(others).toEqual([]);
    expect(alone).toEqual({
      processes: 1,
      rows: [{ strategy: 'setnx', cell: undefined, figures: undefined }],
    });
    expect(several?.processes).toBe(2);
    expect(several?.rows).toMatchObject([
      { strategy: 'setnx', cell: { outcome: undefined }, figures: undefined },
      { strategy: 'fair', cell: { outcome: 'exact' }, figures: { commandsPerOrder: 6.5 } },
    ]);
  });

  it('is empty where no rush is played', () => {
    expect(comparisonsOf(initialState)).toEqual([]);
  });
});
