import { describe, expect, it } from '@jest/globals';
import { filesOf, isThere, pageOf, proofsIn } from '../support/proofs.js';

describe('docs/internals/proofs.md', () => {
  const rows = pageOf('docs/internals/proofs.md')
    .split('\n')
    .filter((line) => /^\|.*`/.test(line));
  const proofs = rows.flatMap((row) => {
    const [, holds = '', proved = ''] = row.split('|').map((cell) => cell.trim());
    return proofsIn(proved).map((proof) => [holds, proof] as const);
  });

  it('names a spec in every row of its tables', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(proofs.filter(([, { file }]) => file === '')).toEqual([]);
  });

  it.each(proofs)('%s', (_, proof) => {
    expect(filesOf(proof)).not.toEqual([]);
    expect({ ...proof, isThere: isThere(proof) }).toMatchObject({ isThere: true });
  });
});
