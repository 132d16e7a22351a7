import { describe, expect, it } from '@jest/globals';
import { filesOf, isThere, pageOf, proofsIn } from '../support/proofs.js';

/** The first and the last number of each numbered list. */
const LISTS = {
  'What users complained of': [1, 32],
  'Mistakes of others': [1, 27],
  ...{ 'd.1': [1, 40], 'd.2': [41, 62], 'd.6': [109, 124], 'd.7': [125, 134] },
  ...{ 'd.8': [135, 145], 'd.9': [146, 167], 'd.10': [168, 188] },
};

describe('docs/internals/conformance.md', () => {
  const page = pageOf('docs/internals/conformance.md');
  const rows = page
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

  it.each(Object.entries(LISTS))(
    'leaves out no number of %s',
    (list, [first = NaN, last = NaN]) => {
      const section = page.split(/^#+ /m).find((text) => text.startsWith(list)) ?? '';
      const numbers = [...section.matchAll(/^\| (\d+) /gm)].map(([, number]) => Number(number));
      expect(numbers).toEqual(Array.from({ length: last - first + 1 }, (_, i) => first + i));
    },
  );

  it.each(proofs)('%s', (_, proof) => {
    expect(filesOf(proof)).not.toEqual([]);
    expect({ ...proof, isThere: isThere(proof) }).toMatchObject({ isThere: true });
  });
});
