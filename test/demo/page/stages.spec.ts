import { describe, expect, it } from '@jest/globals';
import { PART_NAMES } from '../../../apps/seckill-demo/src/arena/parts/part.js';
import { partCell } from '../../../apps/seckill-demo/src/arena/cell.js';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { insideAfter } from '../../../apps/seckill-demo/src/page/stages/payment-picture.js';
import { moveMs } from '../../../apps/seckill-demo/src/page/stages/scene.js';
import { promisedTone } from '../../../apps/seckill-demo/src/page/words.js';
import { PICTURES } from '../../../apps/seckill-demo/src/page/stages/stages.js';
import { recordedRun } from './recorded-run.js';

const cell = 'part/payment/with';
const entered = (buyer: string): Step => ({
  ...{ kind: 'passed', at: 0, cell, process: 7, buyer, point: 'at-gateway' },
});
const left = (buyer: string, answer: 'sold' | 'refused' = 'sold'): Step => ({
  ...{ kind: 'answered', at: 0, cell, process: 7, buyer, answer, tookMs: 1 },
});

describe('the lamps of the gateway', () => {
  it.each([
    ['no buyer has come', [], 0],
    ['two are inside', [entered('a'), entered('b')], 2],
    ['one has gone again', [entered('a'), entered('b'), left('a')], 1],
    ['one was thrown out', [entered('a'), left('b', 'refused')], 1],
  ])('%s', (_, steps, lit) => {
    expect(insideAfter(steps)).toBe(lit);
  });
});

describe('the sign of a part', () => {
  it('is right only if the outcome is promised', () => {
    expect([promisedTone('ok', 'ok'), promisedTone('ok', undefined)]).toEqual(['right', 'none']);
    expect(promisedTone('overtakes', undefined)).toBe('harm');
  });
});

describe('a move', () => {
  it('is short where there are many, and never too long to wait for', () => {
    expect(moveMs(40)).toBe(100);
    expect(moveMs(1_000)).toBe(40);
    expect([moveMs(2), moveMs(0)]).toEqual([700, 700]);
  });
});

describe('the picture of each part', () => {
  const run = recordedRun();
  const cells = PART_NAMES.flatMap((part) => [partCell(part, false), partCell(part, true)]);
  const played = cells.filter(({ id }) =>
    run.some((step) => step.kind === 'cell-ended' && step.cell === id),
  );

  it('is there for every part', () => {
    expect(played).toHaveLength(cells.filter((one) => one.part !== 'opening').length + 1);
  });

  it.each(played)('moves while it is played: $id', ({ id, part }) => {
    const steps = run.filter((step) => 'cell' in step && step.cell === id);
    const moves = steps.filter(PICTURES[part].isMovedBy);
    expect(moves.length).toBeGreaterThanOrEqual(2);
    expect(moves.length).toBeLessThanOrEqual(120);
  });
});
