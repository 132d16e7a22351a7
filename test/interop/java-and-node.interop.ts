import { afterEach, describe, expect, it } from '@jest/globals';
import { Example } from '../examples/example.js';

afterEach(() => Example.endAll());

describe('the example java-and-node', () => {
  it('sells each piece once, in turns of both languages, and ends by itself', async () => {
    const example = await Example.start('java-and-node');
    const left = await example.finds(/^\[(?:java|node)\] sells one, (\d+) left$/, 20);
    const expected = Array.from({ length: 20 }, (_, i) => i);
    expect(left.map(Number).sort((a, b) => a - b)).toEqual(expected);
    expect(new Set(await example.finds(/^\[(\w+)\] sells/, 20)).size).toBe(2);
    await example.keepsPromises();
    await example.endsCleanly(example.exited);
  });

  it('ends with its command, however that ends', async () => {
    const example = await Example.start('java-and-node');
    await example.finds(/^\[java\] sells/, 1);
    expect(await example.signal('SIGKILL')).toBe('SIGKILL');
    await example.leavesNothing();
  });
});
