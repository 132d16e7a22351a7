import { describe, expect, it } from '@jest/globals';
import {
  FIRST,
  fromQuery,
  NUMBERS,
  STRATEGY_NAMES,
  struckAfter,
  toQuery,
  withFault,
} from '../../../apps/seckill-demo/src/playground/experiment.js';
import type { Experiment } from '../../../apps/seckill-demo/src/playground/experiment.js';
import { run } from '../../../apps/seckill-demo/src/playground/run.js';
import { search } from '../../../apps/seckill-demo/src/playground/search.js';
import type { SearchOptions } from '../../../apps/seckill-demo/src/playground/search.js';

const SAFE = ['lock', 'fair', 'write-lock', 'fenced'] as const;
const TRIES = 60;

const broken = async (changes: Partial<Experiment>, kinds: SearchOptions['kinds'] = []) => {
  const { broken: found } = await search({ ...FIRST, ...changes }, { tries: TRIES, kinds });
  return found === undefined ? 'safe' : found.verdict;
};

describe('a strategy of the playground breaks for the reason that is known of it', () => {
  const one = { processes: 1 };
  const slow = { workMs: 500 };
  it.each<[Experiment['strategy'], string, Partial<Experiment>, SearchOptions['kinds'], string]>([
    ['naive', 'two callers', one, [], 'oversold'],
    ['in-process', 'two processes', {}, [], 'oversold'],
    ['setnx', 'a process is killed', {}, ['kill'], 'stuck'],
    ['setnx-expire', 'a process is killed', { latencyMs: 20 }, ['kill'], 'stuck'],
    ['set-nx-px', 'the work is slow', slow, [], 'oversold'],
    ['owner-check', 'the work is slow', slow, [], 'oversold'],
    ['lua-release', 'the work is slow', slow, [], 'oversold'],
    ['lua-release', 'a process is frozen', {}, ['freeze'], 'oversold'],
    ['lock-unchecked', 'a process is frozen', {}, ['freeze'], 'oversold'],
    ['fenced-late', 'a process is frozen', {}, ['freeze'], 'oversold'],
  ])('%s: %s', async (strategy, _why, changes, kinds, verdict) => {
    expect(await broken({ ...changes, strategy }, kinds)).toBe(verdict);
  });

  it.each<[Experiment['strategy'], string, Partial<Experiment>, SearchOptions['kinds']]>([
    ['in-process', 'one process', one, ['freeze']],
    ['setnx', 'none is killed', {}, ['freeze']],
    ['setnx-expire', 'none dies, and the work is fast', {}, []],
    ['lua-release', 'none is frozen', {}, ['kill']],
    ['lock-unchecked', 'the work is slow', slow, ['kill']],
  ])('%s is safe while %s', async (strategy, _why, changes, kinds) => {
    expect(await broken({ ...changes, strategy }, kinds)).toBe('safe');
  });
});

describe('a lock of the library whose write is asserted or fenced', () => {
  it.each(SAFE)(`survives each kill and freeze of ${TRIES} seeds: %s`, async (strategy) => {
    expect(await broken({ strategy }, ['kill', 'freeze'])).toBe('safe');
    expect(await broken({ strategy, leaseMs: 100, workMs: 200 }, ['kill', 'freeze'])).toBe('safe');
  });
});

describe('a run', () => {
  it('follows from its address', async () => {
    const found = await search(FIRST, { tries: TRIES, kinds: ['freeze'] });
    const query = toQuery(found.broken?.experiment ?? FIRST);
    const again = await run(fromQuery(query));
    expect(query).toMatch(/&faults=freeze-\d-[\d.]+-\d+$/);
    expect(again.hash).toBe(found.broken?.hash);
    expect(again.steps).toEqual(found.broken?.steps);
    expect((await run({ ...again.experiment, seed: 999 })).hash).not.toBe(again.hash);
  });

  it.each(STRATEGY_NAMES)(
    'is the same until the moment of a further fault: %s',
    async (strategy) => {
      const calm = await run({ ...FIRST, strategy });
      const now = calm.steps[10]?.at ?? 0;
      const struck = await run(struckAfter(calm.experiment, now, { kind: 'kill', process: 2 }));
      const before = calm.steps.filter((step) => step.at <= now);
      expect(before.length).toBeGreaterThan(5);
      expect(struck.steps.slice(0, before.length)).toEqual(before);
      expect(struck.steps[before.length]).toMatchObject({ kind: 'struck', what: 'killed' });
    },
  );

  it('names the piece that was sold twice, and by which callers', async () => {
    const { oversold, orders, pieces } = await run({ ...FIRST, strategy: 'naive' });
    expect(oversold?.piece).toBeLessThanOrEqual(20);
    expect(new Set(oversold?.callers).size).toBe(2);
    expect(orders).toBeGreaterThan(pieces);
  });
});

describe('the search', () => {
  it('keeps the faults of the experiment', async () => {
    const own = { kind: 'freeze', process: 2, at: 30, ms: 40 } as const;
    const options = { tries: TRIES, kinds: ['freeze'] } as const;
    const { broken: found } = await search(withFault(FIRST, own), options);
    expect(found?.experiment.faults).toContainEqual(own);
    expect(found?.experiment.faults).toHaveLength(2);
  });

  it('goes on with the first seed after the last one, so that its address leads there', async () => {
    const last = { ...FIRST, seed: NUMBERS.seed.most };
    const { broken: found } = await search(last, { tries: TRIES, kinds: ['freeze'] });
    expect(fromQuery(toQuery(found?.experiment ?? last))).toEqual(found?.experiment);
  });
});

describe('an address', () => {
  it('has the whole experiment, and is read with care', () => {
    const faults = [
      { kind: 'kill', process: 1, at: 12.5, ms: 0 },
      { kind: 'freeze', process: 2, at: 80, ms: 400 },
    ] as const;
    const experiment = { ...FIRST, strategy: 'fair', seed: 17, latencyMs: 9, faults } as const;
    expect(toQuery(experiment)).toContain('&faults=kill-1-12.5,freeze-2-80-400');
    expect(fromQuery(toQuery(experiment))).toEqual(experiment);
    const wrong = 'strategy=none&seed=x&processes=99&leaseMs=-4&faults=kill-9-1,melt-1-1,freeze-1-';
    expect(fromQuery(wrong)).toEqual({ ...FIRST, processes: 4, leaseMs: 100 });
  });

  it.each([0.29, 28.37, 28.371, -Infinity])('has a fault that comes after %d ms', (now) => {
    const { faults } = struckAfter(FIRST, now, { kind: 'freeze', process: 1 });
    const at = Math.ceil(Math.max(0, now) * 100 + 0.1) / 100;
    expect(faults).toEqual([{ kind: 'freeze', process: 1, at, ms: 450 }]);
  });
});
