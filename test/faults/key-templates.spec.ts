import { describe, expect, it } from '@jest/globals';
import { UNSAFE_CHARACTERS } from '../../libs/redis-lock/src/core/api/shapes.js';
import { compileTemplate } from '../../libs/redis-lock/src/nest/key-template.js';
import { Random } from '../support/random.js';

const compile = (template: string) =>
  compileTemplate<readonly unknown[]>(template, 'here', ({ head, path }) => {
    const index = Number(head);
    return { start: `value ${head}`, read: (values) => values[index], path };
  });

describe('a million tuples at random, seed 20240', () => {
  const random = new Random(20_240);
  const PIECES = [
    ...['a', 'b', 'u', 'A', '0', '5', '7B', 'D8', '_', ':', '.', '/', '-', ' ', '%', '%2', '%25'],
    ...['%uD800', '%7B', '{', '}', '{}', '<', '>', '<0>', '$', '\\', "'", '"', '*', '[', '\0'],
    ...['\n', '\r\n', '\t', '\u001b', '\u007f', '\u0085', '\u00a0', '\u200b', '\u202e', '\u2028'],
    ...['\ufeff', '\ud800', '\udc00', '\ud83d', 'é', 'e\u0301', '商', '😀', '__proto__'],
  ];
  const text = () => Array.from({ length: random.int(1, 4) }, () => random.pick(PIECES)).join('');
  const value = (i: number) => (i < 1_000 ? i - 100 : i < 2_000 ? BigInt(i) ** 9n : text());
  /** Made once: each tuple is a draw of these, whose two halves are the places of two values. */
  const values = Array.from({ length: 2 ** 16 }, (_, i) => value(i));
  const draws = Uint32Array.from({ length: 1_000_000 }, () => random.next() * 2 ** 32);

  it.each([
    ['product_<0>', 1, 200_000],
    ['<0>:<1>', 2, 500_000],
    ['shop/<0>_<1>_<2>', 3, 150_000],
    // Each value of this template stands before characters of which escapes consist.
    ['{cart:<0>}57B<1>7B<2>', 3, 150_000],
  ])('%s: no two give the same key, nor a brace or control of theirs', (...row) => {
    const [template, size, count] = row;
    const name = compile(template);
    const form = template.startsWith('{') ? /^\{[^{}]+\}[^{}]+$/ : /^[^{}]+$/;
    const [tuples, keys, unsafe] = [new Set<string>(), new Set<string>(), [] as string[]];
    for (let i = 0; i < count; i += 1) {
      const [first = 0, second = 0] = [draws[i], draws[i + count]];
      const tuple = [values[first >>> 16], values[first & 0xffff], values[second >>> 16]];
      tuple.length = size;
      const key = name(tuple);
      if (!form.test(key) || UNSAFE_CHARACTERS.test(key)) unsafe.push(key);
      // Texts are compared: 1 and '1' are one product. No value holds the character between them.
      tuples.add(tuple.join('\u0001'));
      keys.add(key);
    }
    expect(unsafe).toEqual([]);
    expect(tuples.size).toBeGreaterThan(size === 1 ? 30_000 : 0.9 * count);
    expect(keys.size).toBe(tuples.size);
  });
});
