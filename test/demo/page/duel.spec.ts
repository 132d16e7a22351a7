import { describe, expect, it } from '@jest/globals';
import type { OrderAnswered, Step } from '../../../apps/seckill-demo/src/arena/step.js';
import {
  countsAt,
  endOf,
  laneOf,
  slownessOf,
} from '../../../apps/seckill-demo/src/page/duel/lane.js';
import { dotsAt, layoutOf } from '../../../apps/seckill-demo/src/page/duel/layout.js';

const answer = (at: number, kind: OrderAnswered['answer']): Step => ({
  kind: 'answered',
  at,
  cell: 'duel/naive',
  buyer: `buyer-${at}`,
  process: 7,
  answer: kind,
  tookMs: 1,
});

/** 130 sold of 100, and 20 are sent away; all in 149 ms. */
const steps = Array.from({ length: 150 }, (_, index) =>
  answer(1_000 + index, index < 130 ? 'sold' : 'busy'),
);
const lane = { ...laneOf(steps), isOver: true };
const slowness = slownessOf(lane);
const crowd = { buyers: 150, stock: 100 };

describe('a lane of the duel', () => {
  it('is stretched to some seconds', () => {
    expect(lane.spanMs).toBe(149);
    expect(slowness).toBe(27);
    expect(endOf(lane, slowness)).toBeGreaterThan(4_000);
  });

  it('is never shown faster than it was', () => {
    expect(slownessOf({ ...lane, spanMs: 60_000 })).toBe(1);
  });

  it('is shown half as fast while it goes on', () => {
    expect(slownessOf({ ...lane, isOver: false })).toBe(2);
  });

  it('counts what has landed', () => {
    expect(countsAt(lane, 0, slowness)).toEqual({ sold: 0, turnedAway: 0 });
    expect(countsAt(lane, endOf(lane, slowness), slowness)).toEqual({ sold: 130, turnedAway: 20 });
  });

  it('has its answers in the order of their times, however late they come', () => {
    expect(laneOf([answer(9, 'busy'), answer(3, 'sold')]).answers).toEqual([
      { at: 0, isSold: true, place: 0 },
      { at: 6, isSold: false, place: 0 },
    ]);
  });
});

describe('the dots', () => {
  const layout = layoutOf(500, 200, crowd.buyers);
  const kindsAt = (shownMs: number) => {
    const kinds = dotsAt(layout, lane, crowd, { shownMs, slowness }).map(({ kind }) => kind);
    return (kind: string) => kinds.filter((other) => other === kind).length;
  };

  it('are as large as their box has room for, on a phone too', () => {
    const { radii } = layoutOf(290, 190, 300);
    expect(radii.sold).toBe(4);
    expect(radii.oversold).toBeGreaterThan(1.5);
    expect(Math.max(radii.waiting, radii.oversold, radii.away)).toBeLessThan(3);
  });

  it('all wait at first', () => {
    expect(kindsAt(0)('waiting')).toBe(150);
  });

  it('lie in their boxes in the end, and those beyond the stock are oversold', () => {
    const count = kindsAt(endOf(lane, slowness));
    expect([count('sold'), count('oversold'), count('away')]).toEqual([100, 30, 20]);
  });

  it('never leave the picture', () => {
    for (let shownMs = 0; shownMs <= endOf(lane, slowness); shownMs += 50) {
      for (const { x, y } of dotsAt(layout, lane, crowd, { shownMs, slowness })) {
        expect(x >= 0 && x <= 500 && y >= 0 && y <= 200).toBe(true);
      }
    }
  });
});
