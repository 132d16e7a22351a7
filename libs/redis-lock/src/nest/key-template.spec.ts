import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { LockConfigurationError, LockKeyError } from '../core/api/errors.js';
import { UNSAFE_CHARACTERS } from '../core/api/shapes.js';
import { KeySpace } from '../core/redis/key-names.js';
import { compileTemplate } from './key-template.js';

/** `<0>` and `<1.a.b>` read the values by position. */
const compile = (template: string) =>
  compileTemplate<readonly unknown[]>(template, 'here', ({ head, path }) => {
    const index = Number(head);
    return { start: `value ${head}`, read: (values) => values[index], path };
  });
const make = (template: string, ...values: unknown[]) => compile(template)(values);

describe('a template', () => {
  it('may have any number of placeholders', () => {
    expect(make('nightly')).toBe('nightly');
    expect(make('product_<0>', 7)).toBe('product_7');
    expect(make('<0>:<1>:sold', 'a', 'b')).toBe('a:b:sold');
    expect(make('{tenant_<0>}:x', 't')).toBe('{tenant_t}:x');
    expect(make('a>b_<0>', 'c')).toBe('a>b_c');
  });

  it.each([
    ['', 'must not be empty'],
    ['product_${id}', 'write <name>, not ${name}'],
    ['product_<id', 'never closed'],
    ['product_<a<b>', 'never closed'],
    ['product_<>', '<> is no placeholder'],
    ['product_<a..b>', '<a..b> is no placeholder'],
    ['product_<a.>', '<a.> is no placeholder'],
    ['product_< a>', '< a> is no placeholder'],
    ['<0><1>', 'need a text between them'],
    ['<0>%<1>', 'must not begin with "%"'],
    ['<0>%', 'must not begin with "%"'],
    ['a\n<0>', 'no value makes a usable name'],
    ['a\u200b', 'no value makes a usable name'],
    ['{<0>', 'no value makes a usable name'],
    ['{a}<0>{b}', 'no value makes a usable name'],
    [`<0>${'x'.repeat(1024)}`, 'no value makes a usable name'],
  ])('%j is refused when it is compiled', (template, reason) => {
    expect(() => compile(template)).toThrow(LockConfigurationError);
    expect(() => compile(template)).toThrow(`here: `);
    expect(() => compile(template)).toThrow(reason);
  });
});

describe('a megabyte', () => {
  const MILLION = 1_000_000;
  /** The limit is 5 ms; a busy machine gets five times as long. */
  const within = (work: () => unknown) => {
    const startedAt = performance.now();
    const error = thrownBy(work);
    expect(performance.now() - startedAt).toBeLessThan(25);
    return error;
  };

  it.each(['x', '<', '>', '<>', '<0>', '<0>_', '<a.', '.', '{', '${', '%', '\ud800', ' '])(
    'of %j as a template is refused at once',
    (piece) => {
      const text = piece.repeat(MILLION / piece.length);
      for (const template of [text, `<${text}`, `<${text}>`, `<0>${text}<1>`]) {
        expect(within(() => compile(template))).toBeInstanceOf(LockConfigurationError);
      }
    },
  );

  it.each(['x', '%', '{', '\n', '\ud800', '😀', ':'])('of %j as a value too', (piece) => {
    const name = compile('a:<0>:<1>');
    const value = piece.repeat(MILLION / piece.length);
    expect(within(() => name([value, 'x']))).toBeInstanceOf(LockKeyError);
    expect(within(() => name(['x', value]))).toBeInstanceOf(LockKeyError);
  });
});

describe('a value', () => {
  it.each([
    ['text', 'text'],
    ['Ünïcødé 商品', 'Ünïcødé 商品'],
    ['7', '7'],
    [7, '7'],
    [-0, '0'],
    [1e21, '1e+21'],
    [12345678901234567890n, '12345678901234567890'],
    [true, 'true'],
    ['100%', '100%25'],
    ['{a}', '%7Ba%7D'],
    ['a\n\0b', 'a%0A%00b'],
    ['a\u200bb', 'a%E2%80%8Bb'],
    ['\u202e', '%E2%80%AE'],
    ['\ud800', '%uD800'],
    ['😀', '😀'],
    ['__proto__', '__proto__'],
  ])('%p becomes %p', (value, expected) => {
    expect(make('x_<0>', value)).toBe(`x_${expected}`);
  });

  it('escapes the character that ends it, unless it ends the template', () => {
    expect(make('<0>:<1>:', 'a:b', 'c:d')).toBe('a%3Ab:c:d:');
    expect(make('<0>😀<1>', '😀', '😀')).toBe('%F0%9F%98%80😀😀');
  });

  it.each([
    [undefined, 'is undefined'],
    [null, 'is null'],
    ['', 'is an empty string'],
    [NaN, 'is NaN'],
    [Infinity, 'is Infinity'],
    [-Infinity, 'is -Infinity'],
    [{ id: 7 }, 'is an object'],
    [[7], 'is an array'],
    [Array.from({ length: 10_000 }, () => 7), 'is an array'],
    [new Date(0), 'is a Date'],
    [new Date(NaN), 'is a Date'],
    [new String('7'), 'is a String'],
    [Promise.resolve(7), 'is a Promise'],
    [Symbol('7'), 'is a symbol'],
    [() => 7, 'is a function'],
    ['x'.repeat(1_000_000), 'is a string of 1000000 characters'],
  ])('%p is refused', (value, reason) => {
    const rendering = () => make('product_<0>', value);
    expect(rendering).toThrow(LockKeyError);
    expect(rendering).toThrow(`"product_<0>" cannot be made: <0> ${reason}`);
    expect(thrownBy(rendering)).toMatchObject({ origin: 'value' });
  });

  it('keeps the message short', () => {
    const error = thrownBy(() => make(`${'y'.repeat(900)}<0>`, 'x'.repeat(2_000)));
    expect(error.message.length).toBeLessThan(400);
  });
});

describe('a path', () => {
  it('leads through own properties of objects and arrays', () => {
    const order = { items: [{ sku: 'a1' }], [Symbol.iterator]: 0 };
    expect(make('<0.items.0.sku>', order)).toBe('a1');
    expect(make('<0.sku>', Object.assign(Object.create(null) as object, { sku: 'b2' }))).toBe('b2');
  });

  class Product {
    get sku(): string {
      return 'not its own';
    }
  }

  it.each([
    ['<0.sku>', {}, 'value 0 has no own property "sku"'],
    ['<0.a.b>', { a: null }, 'value 0.a is null'],
    ['<0.a>', undefined, 'value 0 is undefined'],
    ['<0.length>', 'text', 'value 0 is "text"'],
    ['<0.__proto__>', {}, 'no own property "__proto__"'],
    ['<0.constructor.name>', {}, 'no own property "constructor"'],
    ['<0.sku>', new Product(), 'no own property "sku"'],
    ['<0.name>', () => undefined, 'value 0 is a function'],
  ])('%s of %p is refused', (template, value, reason) => {
    expect(() => make(template, value)).toThrow(LockKeyError);
    expect(() => make(template, value)).toThrow(reason);
  });

  it('reports a getter that throws, with its error as the cause', () => {
    const cause = new Error('lazy');
    const lazy = Object.defineProperty({}, 'sku', {
      get() {
        throw cause;
      },
    });
    const error = thrownBy(() => make('<0.sku>', lazy));
    expect(error).toBeInstanceOf(LockKeyError);
    expect(error).toMatchObject({ cause, origin: 'code' });
  });
});

describe('different tuples of values', () => {
  /** Characters that are special in some encoding, so that chance finds collisions. */
  const letters = ['a', 'b', 'u', '%', '%2', '5', '%25', 'A', '0', ':', '_', '{', '}', '\n', ' '];
  const tricky = [...letters, '\ud800', '\udc00', '😀', '\u200b', '%uD800', '7B'];
  const text = fc.array(fc.constantFrom(...tricky), { minLength: 1, maxLength: 6 });
  const value = text.map((parts) => parts.join(''));
  const literal = fc
    .array(fc.constantFrom('a', 'b', 'u', 'A', '0', ':', '_', '5', '😀'), { minLength: 1 })
    .map((parts) => parts.join(''));

  it('give different names, and names that can be used', () => {
    const property = fc.property(
      fc.array(literal, { minLength: 1, maxLength: 3 }),
      fc.array(value, { minLength: 4, maxLength: 4 }),
      fc.array(value, { minLength: 4, maxLength: 4 }),
      (literals, left, right) => {
        const count = literals.length + 1;
        const template = `x${literals.map((text, i) => `<${String(i)}>${text}`).join('')}<${String(count - 1)}>x`;
        const name = compile(template);
        const [a, b] = [left.slice(0, count), right.slice(0, count)];
        const isSame = a.every((text, i) => text === b[i]);
        expect(name(a) === name(b)).toBe(isSame);
        expect(UNSAFE_CHARACTERS.test(name(a))).toBe(false);
        expect(new KeySpace('').key(name(a))).toBe(name(a));
      },
    );
    fc.assert(property, { numRuns: 1_000, seed: 20_240 });
  });

  it('give different names where texts could move over a border', () => {
    const tuples = [
      ['a', 'b_c'],
      ['a_b', 'c'],
      ['a%5Fb', 'c'],
      ['a', 'b%5Fc'],
    ];
    expect(new Set(tuples.map((tuple) => make('<0>_<1>', ...tuple))).size).toBe(tuples.length);
  });

  it('can be read back from left to right', () => {
    const property = fc.property(fc.array(value, { minLength: 3, maxLength: 3 }), (values) => {
      const name = make('<0>A<1>u<2>', ...values);
      expect(readBack(name, ['A', 'u'])).toEqual(values);
    });
    fc.assert(property, { numRuns: 2_000, seed: 20_240 });
  });
});

/** The same seed in every run: a failure repeats. */

/** The decoder of the comment at compileTemplate. */
function readBack(name: string, terminators: readonly string[]): string[] {
  const values: string[] = [];
  let rest = name;
  for (const terminator of [...terminators, undefined]) {
    const unit = /^(%u([0-9A-F]{4})|(?:%[0-9A-F]{2})+|[^])/u;
    let value = '';
    for (;;) {
      const match = unit.exec(rest);
      if (match === null || match[0] === terminator) break;
      const [token, , surrogate] = match;
      rest = rest.slice(token.length);
      if (surrogate !== undefined) value += String.fromCharCode(parseInt(surrogate, 16));
      else value += token.startsWith('%') ? decodeURIComponent(token) : token;
    }
    rest = rest.slice(terminator?.length ?? 0);
    values.push(value);
  }
  return values;
}

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Nothing was thrown');
}
