import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { EXPECTED } from '../../../apps/seckill-demo/src/arena/expected-matrix.js';
import type { FaultName } from '../../../apps/seckill-demo/src/arena/fault.js';
import { blameOf } from '../../../apps/seckill-demo/src/page/replay/blame.js';
import { codeLines } from '../../../apps/seckill-demo/src/page/replay/code.js';
import { playedTo } from '../../../apps/seckill-demo/src/page/replay/playback.js';
import { TimeScale } from '../../../apps/seckill-demo/src/page/timeline/time-scale.js';
import { STRATEGY_NAMES } from '../../../apps/seckill-demo/src/strategies/strategy.js';
import type { StrategyName } from '../../../apps/seckill-demo/src/strategies/strategy.js';
import { recordedRun } from './recorded-run.js';

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

describe('a cell of the recorded run', () => {
  const [began] = recordedRun().filter((step) => step.kind === 'run-began');
  const ended = recordedRun().filter((step) => step.kind === 'cell-ended');
  const played = ended.flatMap(({ cell, result }) =>
    result.kind === 'part' ? [] : { cell, result },
  );

  it.each(played)('has one line that decides it, or none: $cell', ({ result }) => {
    const { strategy, outcome } = result;
    const blame = blameOf(strategy, outcome);
    const lines = codeLines(began?.sources[strategy] ?? '');
    const marked = lines.filter(({ text }) => blame !== undefined && text.includes(blame.line));
    const isDecided = HARM.includes(outcome) || outcome === 'refused';
    if (isDecided || blame !== undefined) expect(marked).toHaveLength(1);
    expect(blame?.isHarm ?? false).toBe(HARM.includes(outcome));
  });

  it('is decided where its holder stood, if that died or slept', () => {
    const lineIn = (strategy: StrategyName, fault: FaultName) =>
      blameOf(strategy, EXPECTED[strategy].faults[fault])?.line;
    const taking = 'this.redis.eval(TAKE';
    expect(lineIn('setnx', 'killed-in-section')).toBe('this.redis.setnx(');
    expect(lineIn('setnx-expire', 'killed-before-expire')).toBe('this.redis.expire(');
    // It dies in one cell right after the counter, in the other within the database.
    expect(lineIn('lua-decrement', 'killed-in-section')).toBe(taking);
    expect(lineIn('lua-decrement', 'killed-before-expire')).toBe(taking);
    expect(lineIn('owner-check', 'slow-work')).toBe("'PX', TUTORIAL_LEASE_MS");
    expect(lineIn('owner-check', 'lease-ends-before-del')).toBe('=== clientId) {');
    expect(lineIn('lua-release', 'frozen')).toBe('await this.sale.sellOne(');
    expect(lineIn('redis-semaphore', 'frozen')).toBe('mutex.isAcquired');
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
