import { describe, expect, it } from '@jest/globals';
import { filesOf, isThere, pageOf, proofsIn } from '../support/proofs.js';

/** The first and the last number of each list of bad input. */
const LISTS = { 'd.6': [109, 124], 'd.7': [125, 134], 'd.8': [135, 145], 'd.10': [168, 188] };
const MISTAKES = [1, 27];

describe('docs/conformance.md', () => {
  const rows = pageOf('docs/conformance.md')
    .split('\n')
    .filter((line) => /^\|(?! -)/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter((cells) => cells.at(-1) !== 'covered by, or why not');
  const covered = rows.filter((cells) => !cells.at(-1)?.startsWith('— '));
  const proofs = covered.flatMap(([name = '', ...cells]) =>
    proofsIn(cells.at(-1) ?? '').map((proof) => [name, proof] as const),
  );

  it('says of every behaviour which spec covers it, or why none does', () => {
    expect(rows.length).toBeGreaterThan(200);
    expect(rows.filter((cells) => cells.length !== 3)).toEqual([]);
    expect(proofs.filter(([, { file }]) => file === '')).toEqual([]);
    const reasons = rows.filter((cells) => !covered.includes(cells)).map(([, , why = '']) => why);
    expect(reasons.filter((why) => why.length < 20)).toEqual([]);
  });

  it.each([['mistakes of others', MISTAKES], ...Object.entries(LISTS)])(
    'leaves out no number of %s',
    (_, [first = NaN, last = NaN]) => {
      const numbers = rows.map(([name]) => Number(name)).filter((n) => n >= first && n <= last);
      expect(numbers).toEqual(Array.from({ length: last - first + 1 }, (__, i) => first + i));
    },
  );

  it.each(proofs)('%s', (_, proof) => {
    expect(filesOf(proof)).not.toEqual([]);
    expect({ ...proof, isThere: isThere(proof) }).toMatchObject({ isThere: true });
  });
});
