import { describe, expect, it } from '@jest/globals';
import { BUGS } from './planted/bugs.js';
import { violationIn } from './planted/found.js';
import { planFor, simulateWith } from './planted/planted.js';
import { PLANTED } from './planted/seeds.js';

/** Each in a history of its own, by its seed. `scripts/find-planted.mjs` has found them. */
describe('a planted bug', () => {
  const known = new Set(PLANTED.map(([primitive, bug]) => `${primitive}: ${bug}`));
  const all = Object.entries(BUGS).flatMap(([primitive, bugs]) =>
    Object.keys(bugs).map((bug) => `${primitive}: ${bug}`),
  );

  it('is found, whatever kind of mistake it is', () => {
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(all.filter((bug) => !known.has(bug))).toEqual([]);
  });

  it.each(PLANTED)('of %s shows: %s, seed %i, breaks "%s"', async (...row) => {
    const [primitive, name, , promise] = row;
    const bug = BUGS[primitive]?.[name];
    if (bug === undefined) throw new Error(`There is no bug "${name}" of ${primitive}`);
    expect(await violationIn(row, bug)).toMatchObject({ promise });
  });

  const plans = new Map(
    PLANTED.map(([primitive, name, seed, , faults]) => {
      const bug = BUGS[primitive]?.[name] ?? {};
      const words: (string | number)[] = [primitive, seed, ...(faults ?? [])];
      if (bug.java === true) words.push('with Java');
      if (bug.level === 2) words.push('with ioredis');
      return [words.join(' '), planFor({ primitive, seed, ...bug }, faults)];
    }),
  );
  it.each([...plans])('shows by itself: %s breaks no promise without one', async (_, plan) => {
    const { violation } = await simulateWith(plan);
    expect(violation).toBeUndefined();
  });
});
