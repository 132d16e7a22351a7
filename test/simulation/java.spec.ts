import { describe, expect, it } from '@jest/globals';
import { commandLine, wordsOf } from './command-line.js';
import { planOf, SHARED } from './plan.js';
import { simulate } from './simulation.js';

describe('Java services in a simulated world', () => {
  const limits = { java: true, sections: 60 };

  describe.each(SHARED)('share with Node: %s', (primitive) => {
    it.each([1, 2])('seed %i', async (seed) => {
      const entries: object[] = [];
      const tell = (entry: object) => entries.push(entry);
      const { violation } = await simulate(planOf(primitive, seed, limits), { tell });
      expect(violation).toBeUndefined();
      const granted = entries.filter((entry) => 'outcome' in entry && entry.outcome === 'granted');
      expect(granted).toContainEqual(
        expect.objectContaining({ process: expect.stringMatching(/^java/) as unknown }),
      );
    });

    it('on level 2', async () => {
      const { violation } = await simulate(planOf(primitive, 1, { ...limits, level: 2 }));
      expect(violation).toBeUndefined();
    });
  });

  it('leave the draws of a history as they are', () => {
    const { threads, settings, ...plan } = planOf('lock', 7, { java: true });
    const { interop, ...others } = settings;
    expect(threads).toBeGreaterThan(0);
    expect(interop).not.toBe('none');
    expect(planOf('lock', 7)).toMatchObject({ ...plan, threads: 0, settings: others });
  });

  it('are repeated by their words', () => {
    const plan = planOf('fair', 7, { java: true });
    const wishes = commandLine(wordsOf(plan).split(' '));
    if (typeof wishes === 'string') throw new Error(wishes);
    expect(planOf('fair', wishes.seed, wishes.limits)).toEqual(plan);
  });

  it('share a few primitives only', () => {
    expect(commandLine(['--java'])).toMatchObject({ primitives: SHARED });
    expect(commandLine(['--java', '--primitive', 'red'])).toMatch(/no primitive red with Java/);
  });
});
