import { describe, expect, it } from '@jest/globals';
import { BUGS } from './planted/bugs.js';
import { planOf, verdictOf, type Row } from './planted/found.js';
import type { Bug } from './planted/planted.js';
import { PLANTED } from './planted/seeds.js';
import { simulate, type Verdict } from './simulation.js';

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

  const verdicts = new Map<string, Promise<Verdict>>();
  const broken = (row: Row) => {
    const [primitive, name] = row;
    const verdict = verdicts.get(`${primitive}: ${name}`) ?? verdictOf(row, bugOf(row));
    verdicts.set(`${primitive}: ${name}`, verdict);
    return verdict;
  };

  it.each(PLANTED)('of %s shows: %s, seed %i, breaks "%s"', async (...row) => {
    const { violation } = await broken(row);
    expect(violation).toMatchObject({ promise: row[3] });
  });

  const histories = new Map<string, Row[]>();
  for (const row of PLANTED) {
    const words = wordsOf(row);
    histories.set(words, [...(histories.get(words) ?? []), row]);
  }

  it.each([...histories])(
    'shows by itself: %s breaks no promise until then without one',
    async (_, rows) => {
      const events: number[] = [];
      for (const row of rows) events.push((await broken(row)).events);
      const row = rows[0] as Row;
      const plan = planOf(row, bugOf(row));
      const { violation } = await simulate(plan, { events: Math.max(...events) });
      expect(violation).toBeUndefined();
    },
  );
});

function bugOf([primitive, name]: Row): Bug {
  const bug = BUGS[primitive]?.[name];
  if (bug === undefined) throw new Error(`There is no bug "${name}" of ${primitive}`);
  return bug;
}

function wordsOf(row: Row): string {
  const [primitive, , seed, , faults] = row;
  const { java, level } = bugOf(row);
  const words: (string | number)[] = [primitive, seed, ...(faults ?? [])];
  if (java === true) words.push('with Java');
  if (level === 2) words.push('with ioredis');
  return words.join(' ');
}
