import { describe, expect, it } from '@jest/globals';
import { commandLine, wordsOf } from './command-line.js';
import { planOf, PRIMITIVES, type Plan } from './plan.js';
import { BUGS } from './planted/bugs.js';
import { shrink } from './shrink.js';
import { simulate, type Watching } from './simulation.js';

const seen = async (plan: Plan) => {
  const entries: string[] = [];
  const tell = (entry: object) => entries.push(JSON.stringify(entry));
  const { hash, events, violation } = await simulate(plan, { tell });
  return { hash, events, violation, entries };
};

describe.each([1, 2] as const)('a simulated world of level %d', (level) => {
  it.each(PRIMITIVES)('keeps the promises: %s', async (primitive) => {
    const { violation } = await simulate(planOf(primitive, 1, { level, sections: 60 }));
    expect(violation).toBeUndefined();
  });

  it.each(['lock', 'red'] as const)('is the same for the same seed: %s', async (one) => {
    const plan = planOf(one, 3, { level, sections: 20 });
    const { entries, ...rest } = await seen(plan);
    expect(await seen(plan)).toEqual({ entries, ...rest });
    expect(entries.length).toBeGreaterThan(100);
    expect((await seen(planOf(one, 4, { level, sections: 20 }))).hash).not.toBe(rest.hash);
  });
});

describe('a failure', () => {
  it('is shrunk to a smaller history that breaks the same promise', async () => {
    const { options } = BUGS.lock?.['an entry does not look who is in'] ?? {};
    const watching: Watching = { decorate: options?.decorate ?? ((port) => port) };
    const failed = await simulate(planOf('lock', 1, { sections: 30 }), watching);
    const shrunk = await shrink(failed, watching);
    expect(shrunk.violation?.promise).toBe(failed.violation?.promise);
    expect(sizeOf(shrunk.plan)).toBeLessThan(sizeOf(failed.plan));
    expect((await simulate(shrunk.plan, watching)).hash).toBe(shrunk.hash);
  });
});

function sizeOf({ sections, processes, callers, keys, faults }: Plan): number {
  return sections * processes * callers * keys * (faults.length + 1);
}

describe('the command line of the simulation', () => {
  it('takes the words that repeat a history', () => {
    const plan = planOf('fair', 7, { level: 2, sections: 40, faults: ['kill', 'cut'] });
    const wishes = commandLine(wordsOf(plan).split(' '));
    if (typeof wishes === 'string') throw new Error(wishes);
    expect(wishes).toMatchObject({ primitives: ['fair'], seed: 7, sections: 1 });
    expect(planOf('fair', wishes.seed, wishes.limits)).toEqual(plan);
  });

  it('takes a plan without faults', () => {
    const plan = planOf('lock', 1, { faults: [] });
    expect(wordsOf(plan)).toMatch(/--faults none$/);
    expect(commandLine(['--faults', 'none'])).toMatchObject({ limits: { faults: [] } });
  });

  it.each([
    [['--primitive', 'lok'], 'There is no primitive lok'],
    [['--seed', '-1'], /--seed/],
    [['--sections', 'many'], '--sections takes a whole number from 1 on'],
    [['--level', '3'], 'There are the levels 1 and 2'],
    [['--faults', 'kill,rain'], 'There is no fault rain'],
    [['--what'], /--what/],
  ])('refuses %j', (words, problem) => {
    expect(commandLine(words)).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    );
  });
});
