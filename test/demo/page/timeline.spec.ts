import { describe, expect, it } from '@jest/globals';
import type { Happening, Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { labelsOf } from '../../../apps/seckill-demo/src/page/timeline/draw.js';
import { keyAt, lookAt } from '../../../apps/seckill-demo/src/page/timeline/key.js';
import { shortTokens } from '../../../apps/seckill-demo/src/page/timeline/marks.js';
import { TimeScale } from '../../../apps/seckill-demo/src/page/timeline/time-scale.js';
import { timelineOf } from '../../../apps/seckill-demo/src/page/timeline/timeline.js';
import { narrationWords } from '../../../apps/seckill-demo/src/page/words/narration-words.js';
import { timelineWords } from '../../../apps/seckill-demo/src/page/words/timeline-words.js';
import { StepLog } from '../../../apps/seckill-demo/src/page/step-log.js';
import type { GatePoint } from '../../../apps/seckill-demo/src/seckill/gate.js';
import { recordedRun } from './recorded-run.js';

const RIGHT = ['exact', 'ok', 'refused', 'undersells', 'stuck'];
const BY_TWO = ['oversells', 'oversold', 'stale-write'];
const CELL = 'fault/lua-release/slow-work';

function at(time: number, happening: Happening): Step {
  return { at: time, ...happening };
}

function passed(time: number, process: number, point: GatePoint): Step {
  return at(time, { kind: 'passed', cell: CELL, process, buyer: `buyer-${process}`, point });
}

function answered(time: number, process: number, answer: 'sold' | 'refused' | 'busy'): Step {
  const buyer = `buyer-${process}`;
  return at(time, { kind: 'answered', cell: CELL, buyer, process, answer, tookMs: 1 });
}

/** One inside from 0 to 20 that writes at 15, another one from 10 to 30. */
const TWO_AT_ONCE = [
  passed(0, 1, 'lock-set'),
  passed(1, 1, 'before-write'),
  at(5, { kind: 'struck', cell: CELL, what: 'lease-ended' }),
  passed(10, 2, 'lock-set'),
  passed(11, 2, 'before-write'),
  passed(15, 1, 'after-write'),
  answered(20, 1, 'sold'),
  passed(25, 2, 'after-write'),
  answered(30, 2, 'sold'),
];

describe('a bar', () => {
  it('lies from the lock to the answer, and knows when it could do no more harm', () => {
    expect(timelineOf(TWO_AT_ONCE).bars).toMatchObject([
      { process: 1, from: 0, to: 20, harmlessAt: 15, leaseOverAt: 5, answer: 'sold' },
      { process: 2, from: 10, to: 30, harmlessAt: 25, leaseOverAt: undefined },
    ]);
  });

  it('begins with the read where no lock is told of', () => {
    const { bars } = timelineOf([passed(3, 1, 'before-read'), answered(9, 1, 'sold')]);
    expect(bars).toMatchObject([{ from: 3, to: 9, leaseOverAt: undefined }]);
  });

  it('ends with the release, unless a commit comes after that', () => {
    const released = at(8, {
      kind: 'lock',
      event: 'released',
      process: 1,
      cell: CELL,
      buyer: 'buyer-1',
    });
    const steps = [passed(3, 1, 'lock-set'), released, answered(20, 1, 'sold')];
    expect(timelineOf(steps).bars).toMatchObject([{ to: 8 }]);
    const committed = [...steps, passed(9, 1, 'before-commit')];
    expect(timelineOf(committed).bars).toMatchObject([{ to: 20, harmlessAt: 20 }]);
  });

  it('ends with its process', () => {
    const { bars, gaps } = timelineOf([
      passed(3, 1, 'lock-set'),
      at(7, { kind: 'struck', cell: CELL, process: 1, what: 'killed' }),
      answered(30, 2, 'busy'),
    ]);
    expect(bars).toMatchObject([{ from: 3, to: 7 }]);
    expect(gaps).toEqual([{ process: 1, from: 7, to: 30, what: 'ended' }]);
  });

  it('stays in the process that sold, whichever takes the money', () => {
    const paid = at(40, {
      kind: 'passed',
      cell: CELL,
      process: 2,
      buyer: 'buyer-1',
      point: 'at-gateway',
    });
    const { bars } = timelineOf([passed(3, 1, 'lock-set'), answered(9, 1, 'sold'), paid]);
    expect(bars).toMatchObject([{ process: 1, from: 3, to: 9 }]);
  });

  it('that is still open ends with the last step', () => {
    expect(timelineOf([passed(3, 1, 'lock-set'), passed(9, 1, 'before-read')]).bars).toMatchObject([
      { from: 3, to: 9 },
    ]);
  });

  it('is the same when steps come late', () => {
    expect(timelineOf([...TWO_AT_ONCE].reverse())).toEqual(timelineOf(TWO_AT_ONCE));
  });
});

describe('two holders at once', () => {
  it('are those of whom each could write while the other was inside', () => {
    const [overlap, ...others] = timelineOf(TWO_AT_ONCE).overlaps;
    expect(others).toEqual([]);
    expect(overlap).toMatchObject({ from: 10, holders: 2 });
    expect(overlap?.to).toBeCloseTo(15, -1);
  });

  it('are no harm if one was kept from writing', () => {
    const refused = TWO_AT_ONCE.filter(({ at: time }) => time !== 15 && time !== 20);
    expect(timelineOf([...refused, answered(20, 1, 'refused')]).overlaps).toEqual([]);
  });

  it('show in the recorded run where harm was done by them, and nowhere else', () => {
    const steps = recordedRun();
    const log = new StepLog();
    for (const step of steps) log.add(step);
    for (const step of steps) {
      if (step.kind !== 'cell-ended' || step.result.kind === 'duel') continue;
      const isSeen = timelineOf(log.of(step.cell)).overlaps.length > 0;
      if (RIGHT.includes(step.outcome)) expect([step.cell, isSeen]).toEqual([step.cell, false]);
      // Late prices are no orders.
      const isByTwo = BY_TWO.includes(step.outcome) && step.result.kind !== 'part';
      if (isByTwo) expect([step.cell, isSeen]).toEqual([step.cell, true]);
    }
  });
});

describe('the marks', () => {
  it('tell what befell the lock, and a write without it', () => {
    expect(timelineOf(TWO_AT_ONCE).marks).toEqual([
      { process: undefined, at: 5, kind: 'lease-ended', reason: undefined },
      { process: 1, at: 15, kind: 'wrote-late', reason: undefined },
    ]);
  });

  it('tell once of a stale write that was refused, with its tokens', () => {
    const { marks } = timelineOf([
      passed(0, 1, 'lock-set'),
      { ...answered(4, 1, 'refused'), reason: 'token 33 < 34' } as Step,
      at(5, { kind: 'struck', cell: CELL, process: 1, what: 'stale-refused' }),
    ]);
    expect(marks).toMatchObject([{ at: 4, kind: 'stale-refused', reason: 'token 33 < 34' }]);
    expect(shortTokens('token 33 < 34')).toBe('token 33 < 34');
    expect(shortTokens('token 1795652567806999 < 1795652569630000')).toBe(
      'token …7806999 < …9630000',
    );
    expect(shortTokens('LEASE_LOST')).toBe('LEASE_LOST');
  });

  it('call no price refused that was written, if only its lock was lost', () => {
    const steps = [
      passed(0, 1, 'lock-set'),
      passed(3, 1, 'after-write'),
      answered(4, 1, 'refused'),
    ];
    const { bars, marks } = timelineOf(steps);
    expect(bars).toMatchObject([{ answer: 'lost' }]);
    expect(marks).toEqual([]);
  });

  it('tell of those who went away', () => {
    expect(timelineOf([answered(4, 1, 'busy')]).marks).toMatchObject([
      { process: 1, kind: 'busy' },
    ]);
  });
});

describe('a crowd', () => {
  const waiters = (time: number, process: number, waiting: number) =>
    at(time, { kind: 'waiters', process, waiting });

  it('is what a process counts, from the first that waits until none does', () => {
    const { crowds, lanes } = timelineOf([
      ...[waiters(1, 1, 2), waiters(3, 2, 1), waiters(4, 1, 37), waiters(6, 1, 5)],
      ...[waiters(9, 1, 0), waiters(12, 1, 1), waiters(15, 2, 3)],
      at(20, { kind: 'struck', cell: CELL, process: 2, what: 'killed' }),
      answered(30, 1, 'sold'),
    ]);
    expect(crowds).toEqual([
      { process: 1, from: 1, to: 9, most: 37 },
      { process: 2, from: 3, to: 20, most: 3 },
      { process: 1, from: 12, to: 30, most: 1 },
    ]);
    expect(lanes.map(({ process }) => process)).toEqual([1, 2]);
  });

  it('stands for the lines of those who wait, where they are too many', () => {
    const order = (number: number): Step[] => {
      const it = { cell: CELL, process: 1, buyer: `b-${number}` };
      return [
        at(0, { kind: 'passed', point: 'doors', ...it }),
        at(10 * number, { kind: 'passed', point: 'lock-set', ...it }),
        at(10 * number + 5, { kind: 'answered', answer: 'sold', tookMs: 1, ...it }),
      ];
    };
    const crowd = (size: number) =>
      timelineOf(Array.from({ length: size }, (_, index) => order(index + 1)).flat());
    expect(crowd(12)).toMatchObject({ waits: { length: 12 }, crowds: [] });
    expect(crowd(13)).toMatchObject({
      waits: [],
      crowds: [{ process: 1, from: 0, to: 130, most: 13 }],
    });
  });
});

describe('a gap', () => {
  it('lasts until the process is thawed', () => {
    const frozen = (time: number, what: 'frozen' | 'thawed') =>
      at(time, { kind: 'struck', cell: CELL, process: 1, what });
    const { gaps } = timelineOf([
      frozen(2, 'frozen'),
      frozen(9, 'thawed'),
      answered(20, 1, 'sold'),
    ]);
    expect(gaps).toEqual([{ process: 1, from: 2, to: 9, what: 'frozen' }]);
  });
});

describe('the scale', () => {
  const steps = [
    passed(0, 1, 'lock-set'),
    passed(10, 1, 'after-write'),
    answered(2_010, 1, 'sold'),
  ];
  const scale = TimeScale.of(timelineOf(steps));

  it('draws a long pause shorter, and marks it', () => {
    expect(scale.shareOf(0)).toBe(0);
    expect(scale.shareOf(2_010)).toBe(1);
    expect(scale.shareOf(10)).toBeGreaterThan(0.15);
    expect(scale.pauses.map(({ ms }) => ms)).toEqual([2_000]);
  });

  it('finds the time of each place again', () => {
    for (const time of [0, 3, 10, 500, 2_010]) {
      expect(scale.timeOf(scale.shareOf(time))).toBeCloseTo(time, 6);
    }
  });

  it('can be even, and then has no pauses', () => {
    const even = TimeScale.even(100, 200);
    expect(even.shareOf(150)).toBe(0.5);
    expect(even.pauses).toEqual([]);
  });
});

describe('the axis', () => {
  it('has no label twice, and one at its right edge', () => {
    const rounded = (share: number) => `${Math.round(share * 4)} s`;
    const labels = labelsOf(640, rounded);
    expect(labels.map(({ text }) => text)).toEqual(['0 s', '1 s', '2 s', '3 s', '4 s']);
    expect(labels.at(-1)?.share).toBe(1);
    expect(labelsOf(300, rounded).map(({ share }) => share)).toEqual([0, 2 / 6, 4 / 6, 1]);
  });
});

describe('a bar of a buyer', () => {
  it.each([
    ['en', 'first buyer: sold', 'The first buyer'],
    ['zh', '第一个买家：售出', '第一个买家'],
  ] as const)('has the name that the lesson has: %s', (language, bar, name) => {
    const { buyer, bar: text, answer } = timelineWords[language];
    expect(text(buyer('first'), answer('sold'))).toBe(bar);
    expect(narrationWords[language].buyer('first')).toBe(name);
    expect([buyer('buyer-11'), narrationWords[language].buyer('buyer-11').trim()]).toEqual(
      language === 'en' ? ['buyer 11', 'Buyer 11'] : ['买家 11', '买家 11'],
    );
  });
});

describe('the key', () => {
  const steps = [
    at(0, {
      kind: 'key',
      cell: CELL,
      name: 'product_1',
      fields: { a: '1' },
      ttlMs: 1_000,
      queue: ['b'],
    }),
    at(300, {
      kind: 'key',
      cell: CELL,
      name: 'product_1',
      fields: { a: '1' },
      ttlMs: 1_000,
      queue: [],
    }),
  ];

  it('is as it was last seen, its TTL run on', () => {
    expect(keyAt(steps, -1)).toBeUndefined();
    expect(keyAt(steps, 200)).toMatchObject({ ttlMs: 800, queue: ['b'] });
    expect(keyAt(steps, 500)).toMatchObject({ ttlMs: 800, queue: [] });
  });

  it('is gone when its time is over', () => {
    expect(keyAt(steps, 1_400)).toMatchObject({ fields: undefined, ttlMs: undefined });
  });

  it('is asked for as its strategy keeps it', () => {
    const asText = [
      at(0, { kind: 'key', cell: CELL, name: 'product_1', queue: [], fields: { '': 'me' } }),
    ];
    expect(lookAt(steps)).toEqual({ command: 'HGETALL', none: '(empty array)' });
    expect(lookAt(asText)).toEqual({ command: 'GET', none: '(nil)' });
    const missed = [at(0, { kind: 'key', cell: CELL, name: 'product_1', queue: [], token: '7' })];
    expect(lookAt(missed)).toMatchObject({ command: 'HGETALL' });
    expect(lookAt([])).toEqual({ command: 'EXISTS', none: '(integer) 0' });
  });
});
