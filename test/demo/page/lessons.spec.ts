import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { codeDifference } from '../../../apps/seckill-demo/src/lessons/code-difference.js';
import { lessonText } from '../../../apps/seckill-demo/src/lessons/lesson-texts.js';
import { lessonOf, LESSONS } from '../../../apps/seckill-demo/src/lessons/lessons.js';
import {
  decisiveEvent,
  narrationOf,
} from '../../../apps/seckill-demo/src/page/lesson/narration.js';
import { timeAt } from '../../../apps/seckill-demo/src/page/lesson/story-time.js';
import { twoOfMany } from '../../../apps/seckill-demo/src/page/lesson/two-of-many.js';
import { blameOf } from '../../../apps/seckill-demo/src/page/replay/blame.js';
import { StepLog } from '../../../apps/seckill-demo/src/page/step-log.js';
import { TimeScale } from '../../../apps/seckill-demo/src/page/timeline/time-scale.js';
import { timelineOf } from '../../../apps/seckill-demo/src/page/timeline/timeline.js';
import { toneOf } from '../../../apps/seckill-demo/src/page/words.js';
import { lessonWords } from '../../../apps/seckill-demo/src/page/words/lesson-words.js';
import { narrationWords } from '../../../apps/seckill-demo/src/page/words/narration-words.js';
import { recordedRun } from './recorded-run.js';

const SOURCES = `${import.meta.dirname}/../../../apps/seckill-demo/src/`;
const linesOf = (file: string) =>
  readFileSync(`${SOURCES}${file}`, 'utf8')
    .split('\n')
    .map((line) => line.trim());

const log = new StepLog();
for (const step of recordedRun().sort((a, b) => a.at - b.at)) log.add(step);
/** The sentences of a lesson in its recorded cell. */
const storyOf = (cell: string, language: 'en' | 'zh') => {
  const steps = twoOfMany(log.of(cell));
  const processes = timelineOf(steps).lanes.map(({ process }) => process);
  return narrationOf(steps, processes, narrationWords[language]);
};

describe('the lessons', () => {
  it('fail one after the other, and the last one holds', () => {
    const holds = LESSONS.map(({ outcome }) => toneOf(outcome) === 'right');
    expect(holds).toEqual([...Array.from({ length: 7 }, () => false), true]);
  });

  it('are eight, from no lock to the fence', () => {
    expect(LESSONS.map(({ strategy }) => strategy)).toEqual([
      ...['naive', 'in-process', 'setnx', 'set-nx-px', 'owner-check', 'lua-release'],
      ...['redis-lock', 'fenced'],
    ]);
    expect(lessonOf('setnx-expire')).toBe(lessonOf('set-nx-px'));
    expect(lessonOf('fair')).toBeUndefined();
  });

  describe.each(LESSONS)(
    '$number',
    ({ number, strategy, cell, outcome, code, sale = [], ...rest }) => {
      const before = LESSONS[number - 2]?.code ?? [];

      it('has at most nine lines with all their brackets, as in their source', () => {
        expect(code.length + sale.length).toBeLessThanOrEqual(9);
        const source = linesOf(`strategies/${strategy}.ts`);
        expect(code.filter((line) => !source.includes(line.trim()))).toEqual([]);
        const common = linesOf('seckill/sale.ts');
        expect(sale.filter((line) => !common.includes(line))).toEqual([]);
        const bracketsOf = (bracket: string) => code.join('').split(bracket).length;
        expect([bracketsOf('}'), bracketsOf(')')]).toEqual([bracketsOf('{'), bracketsOf('(')]);
      });

      it('strikes out only what is gone', () => {
        const source = linesOf(`strategies/${strategy}.ts`);
        // A line that is indented anew is struck out, and stands again.
        const shown = code.map((line) => line.trim());
        const gone = codeDifference(before, code)
          .filter(({ sign, text }) => sign === '−' && !shown.includes(text.trim()))
          .filter(({ text }) => /\w/.test(text))
          .map(({ text }) => text.trim());
        expect(gone.filter((line) => source.includes(line))).toEqual([]);
      });

      it('has a new line that matters, and the line that decides', () => {
        const added = codeDifference(before, code).filter(({ sign }) => sign === '+');
        expect(added.map(({ text }) => text.trim())).toContain(rest.changed);
        const blame = blameOf(strategy, outcome);
        expect(code.filter((line) => line.includes(blame?.line ?? '-'))).toHaveLength(1);
      });

      it('has a recorded cell with the published outcome, and one event that decides it', () => {
        const ended = recordedRun().find(
          (step) => step.kind === 'cell-ended' && step.cell === cell.id,
        );
        expect(ended).toMatchObject({ outcome });
        const story = storyOf(cell.id, 'en');
        expect(story.length).toBeGreaterThan(3);
        expect(story.length).toBeLessThan(13);
        const { sentence = '' } = story[decisiveEvent(story, outcome)] ?? {};
        // Each recording has other buyers.
        expect(sentence.replace(/^Buyer \d+/, 'A buyer')).toBe(DECISIVE[number - 1]);
      });

      it('reports a loss after the process runs again', () => {
        const whats = storyOf(cell.id, 'en').map(({ what }) => what);
        if (whats.includes('lost')) {
          expect(whats.indexOf('lost')).toBeGreaterThan(whats.indexOf('thawed'));
        }
      });

      it('has every event in both languages, without a missing value', () => {
        const [english, chinese] = [storyOf(cell.id, 'en'), storyOf(cell.id, 'zh')];
        expect(chinese.map(({ what }) => what)).toEqual(english.map(({ what }) => what));
        const told = [...english, ...chinese].map(({ sentence }) => sentence).join('\n');
        expect(told).not.toMatch(/undefined|NaN|-1|buyer-|Process 0|进程 0/);
      });

      it.each(['en', 'zh'] as const)('has its texts, and those of its aside: %s', (language) => {
        const { title, says, question, answer, asides } = lessonText(number, language);
        expect([title, says, question, answer]).not.toContain('');
        expect(asides?.length).toBe(rest.asides?.length);
      });

      it('has only asides that are recorded', () => {
        for (const { id } of rest.asides ?? []) expect(log.of(id)).not.toEqual([]);
      });
    },
  );
});

describe('the second lesson', () => {
  it('replaces one line by another', () => {
    const [first, second] = LESSONS;
    const changes = codeDifference(first?.code ?? [], second?.code ?? []);
    expect(changes.map(({ sign }) => sign)).toEqual(['−', '+']);
  });
});

describe('a rush of a lesson', () => {
  it.each(['en', 'zh'] as const)('has as many buyers as its hint says: %s', (language) => {
    const rushes = LESSONS.filter(({ cell }) => cell.kind === 'rush');
    for (const { cell } of rushes) {
      const buyers = log.of(cell.id).flatMap((step) => ('buyer' in step ? [step.buyer] : []));
      expect(lessonWords[language].two).toContain(` ${new Set(buyers).size}`);
    }
  });
});

const DECISIVE = [
  'A buyer reads the stock.',
  'A buyer reads the stock.',
  'Process 1 is killed.',
  'Process 1 deletes the lock of the next buyer.',
  'Process 1 deletes the lock of the next buyer.',
  'The next buyer acquires the lock.',
  'Process 1 overwrites the newer price, without the lock.',
  'The first buyer: the write is refused.',
];

describe('a difference of code', () => {
  it('has what is removed before what replaces it, and keeps the rest in place', () => {
    const lines = codeDifference(['a', 'b', 'c', 'd'], ['a', 'x', 'c', 'y']);
    expect(lines.map(({ sign, text }) => sign + text)).toEqual([
      ...[' a', '−b', '+x', ' c', '−d', '+y'],
    ]);
  });

  it('is all new after nothing, and all gone before nothing', () => {
    expect(codeDifference([], ['a'])).toEqual([{ text: 'a', sign: '+' }]);
    expect(codeDifference(['a'], [])).toEqual([{ text: 'a', sign: '−' }]);
  });
});

describe('the playhead of a lesson', () => {
  const scale = TimeScale.even(1_000, 2_000);
  const events = [{ at: 1_100 }, { at: 1_500 }];

  it('rests at each event, then moves to the next one', () => {
    expect(timeAt(1, events, scale)).toBe(1_100);
    expect(timeAt(1.5, events, scale)).toBe(1_100);
    expect(timeAt(1.8, events, scale)).toBeCloseTo(1_300);
    expect(timeAt(2, events, scale)).toBe(1_500);
  });

  it('shows nothing before the first event', () => {
    expect(timeAt(0, events, scale)).toBe(-Infinity);
  });
});
