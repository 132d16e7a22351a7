import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { orderOf } from '../../../apps/seckill-demo/src/page/stages/arrivals.js';
import { tracesOf } from '../../../apps/seckill-demo/src/page/timeline/trace.js';

function passed(at: number, buyer: string, point: 'doors' | 'lock-set'): Step {
  return { kind: 'passed', at, cell: 'part/queue/without', process: 7, buyer, point };
}

describe('the order of purchase', () => {
  it('is given for each buyer in the order of arrival', () => {
    const steps = [
      passed(1, 'a', 'doors'),
      passed(2, 'b', 'doors'),
      passed(3, 'c', 'doors'),
      passed(4, 'a', 'lock-set'),
      passed(5, 'c', 'lock-set'),
      passed(6, 'b', 'lock-set'),
    ];
    expect(orderOf(tracesOf(steps))).toEqual([0, 2, 1]);
  });

  it('is open for those who still wait', () => {
    const steps = [passed(1, 'a', 'doors'), passed(2, 'b', 'doors'), passed(3, 'b', 'lock-set')];
    expect(orderOf(tracesOf(steps))).toEqual([undefined, 0]);
  });
});
