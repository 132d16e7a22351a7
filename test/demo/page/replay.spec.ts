import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EXPECTED } from '../../../apps/seckill-demo/src/arena/expected-matrix.js';
import { blameOf } from '../../../apps/seckill-demo/src/page/replay/blame.js';
import { codeLines } from '../../../apps/seckill-demo/src/page/replay/code.js';
import { playedTo } from '../../../apps/seckill-demo/src/page/replay/playback.js';
import { TimeScale } from '../../../apps/seckill-demo/src/page/timeline/time-scale.js';
import { STRATEGY_NAMES } from '../../../apps/seckill-demo/src/strategies/strategy.js';
import type { StrategyName } from '../../../apps/seckill-demo/src/strategies/strategy.js';

const STRATEGIES = `${import.meta.dirname}/../../../apps/seckill-demo/src/strategies/`;
const HARM = [
  'oversells',
  'undersells',
  'stuck',
  'foreign-delete',
  'oversold',
  'stale-write',
  'lost-piece',
];

const sourceOf = (strategy: StrategyName) => readFileSync(`${STRATEGIES}${strategy}.ts`, 'utf8');

describe.each(STRATEGY_NAMES)('the lines of %s', (strategy) => {
  const lines = codeLines(sourceOf(strategy));
  const { oneProcess, severalProcesses, faults } = EXPECTED[strategy];
  const outcomes = [...new Set([oneProcess, severalProcesses, ...Object.values(faults)])];

  it('are those of the class, by their numbers in the file', () => {
    const all = sourceOf(strategy).split('\n');
    expect(lines.some(({ text }) => text.startsWith('export class'))).toBe(true);
    expect(lines.filter(({ text }) => /^import |^ \*/.test(text))).toEqual([]);
    for (const { number, text } of lines) expect(['', all[number - 1]]).toContain(text);
  });

  it.each(outcomes)('have one that decides "%s", if that is harm or refused', (outcome) => {
    const blame = blameOf(strategy, outcome);
    if (HARM.includes(outcome) || outcome === 'refused') expect(blame).toBeDefined();
    if (blame === undefined) return;
    expect(lines.filter(({ text }) => text.includes(blame.line))).not.toEqual([]);
    expect(blame.isHarm).toBe(HARM.includes(outcome));
  });
});

describe('a replay', () => {
  const scale = TimeScale.even(1_000, 2_000);

  it('goes on in real time, or slower', () => {
    expect(playedTo(1_000, 400, 1, scale)).toBe(1_400);
    expect(playedTo(1_000, 400, 0.25, scale)).toBe(1_100);
  });

  it('takes some seconds when it is slow', () => {
    expect(playedTo(1_000, 3_000, 'slow', scale)).toBe(1_500);
    expect(playedTo(1_500, 60_000, 'slow', scale)).toBe(2_000);
  });
});
