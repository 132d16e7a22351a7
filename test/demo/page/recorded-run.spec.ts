import { describe, expect, it } from '@jest/globals';
import { faultCell, partCell, rushCell } from '../../../apps/seckill-demo/src/arena/cell.js';
import { expectedOf } from '../../../apps/seckill-demo/src/arena/expected-matrix.js';
import { FAULT_NAMES } from '../../../apps/seckill-demo/src/arena/fault.js';
import { initialState } from '../../../apps/seckill-demo/src/page/state.js';
import { reduce } from '../../../apps/seckill-demo/src/page/state.js';
import { STRATEGY_NAMES } from '../../../apps/seckill-demo/src/strategies/strategy.js';
import { PARTS } from '../sample-results.js';
import { recordedRun } from './recorded-run.js';

describe('the recorded run', () => {
  const run = recordedRun();
  const cells = [
    ...STRATEGY_NAMES.flatMap((name) => [rushCell(name, 1), rushCell(name, 2)]),
    ...STRATEGY_NAMES.flatMap((name) => FAULT_NAMES.map((fault) => faultCell(name, fault))),
    ...PARTS.map(({ part, withLock }) => partCell(part, withLock)),
  ];

  it('has every cell, with the outcome that is published today', () => {
    const state = run.reduce(reduce, initialState);
    const shown = cells.map(({ id }) => [id, state.cells[id]?.outcome]);
    const published = cells.map((cell) => [cell.id, expectedOf(cell) ?? expect.anything()]);
    expect(shown).toEqual(published);
  });

  it('shows 300 buyers of 100 pieces, of whom all got one without a lock', () => {
    const sold = (cell: string) =>
      run.filter(
        (step) => step.kind === 'answered' && step.cell === cell && step.answer === 'sold',
      );
    expect(sold('duel/naive')).toHaveLength(300);
    expect(sold('duel/redis-lock')).toHaveLength(100);
  });

  it('is small', () => {
    expect(JSON.stringify(run).length).toBeLessThan(1_000_000);
  });
});
