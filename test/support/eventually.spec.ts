import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.js';

describe('eventually', () => {
  it('hands back the answer of the first look that neither throws nor says false', async () => {
    let looks = 0;
    const answer = await eventually(() => {
      looks += 1;
      if (looks === 1) throw new Error('not yet');
      return looks === 2 ? false : 'there';
    });
    expect([answer, looks]).toEqual(['there', 3]);
  });

  it('waits for assertions', async () => {
    let value = 0;
    await eventually(async () => {
      value += 1;
      await expect(Promise.resolve(value)).resolves.toBe(3);
    });
    expect(value).toBe(3);
  });

  it('gives up in time and tells the last reason, even when a look hangs', async () => {
    const sees = (fact: () => unknown) => eventually(fact, { withinMs: 30 });
    await expect(
      sees(() => {
        throw new Error('two are left');
      }),
    ).rejects.toThrow('Not within 30 ms: two are left');
    await expect(sees(() => false)).rejects.toThrow(/Not within 30 ms: still false: .*false/);
    await expect(sees(() => new Promise(() => undefined))).rejects.toThrow('still unknown');
  });
});
