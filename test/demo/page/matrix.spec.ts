import { describe, expect, it } from '@jest/globals';
import { duelCell, faultCell, rushCell } from '../../../apps/seckill-demo/src/arena/cell.js';
import { matrixOf } from '../../../apps/seckill-demo/src/page/matrix/model.js';

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
