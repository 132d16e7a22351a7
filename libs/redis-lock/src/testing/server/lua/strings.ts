import { unknown } from '../unknown.js';
import { args, type Functions } from './arguments.js';
import { patternOf, search } from './patterns.js';
import { first, general, isTrue, textOf, type LuaFunction, type Value } from './values.js';

const PARTS: Functions = {
  byte: (...values) => {
    if (values.length > 1) unknown('places of string.byte');
    const text = args.text(values, 1, 'byte');
    return text === '' ? [] : text.charCodeAt(0);
  },
  char: (...values) => {
    const bytes = values.map((_, i) => args.number(values, i + 1, 'char'));
    if (bytes.some((byte) => !(byte >= 0 && byte < 256))) unknown('such byte of string.char');
    return String.fromCharCode(...bytes);
  },
  sub: (...values) => {
    const text = args.text(values, 1, 'sub');
    const start = placeIn(text, args.number(values, 2, 'sub'));
    const to = args.number(values, 3, 'sub', -1);
    return text.slice(start, Math.max(start, to < 0 ? text.length + to + 1 : to));
  },
};

/** Places count from 1, or from -1 backwards. */
function placeIn(text: string, place: number): number {
  return Math.min(text.length, Math.max(0, place < 0 ? text.length + place : place - 1));
}

function searchIn(values: readonly Value[], name: string): RegExpExecArray | null {
  const text = args.text(values, 1, name);
  const from = placeIn(text, args.number(values, 3, name, 1));
  const pattern = args.text(values, 2, name);
  return search(text, isTrue(values[3]) ? pattern.replace(/\W/g, '%$&') : pattern, from);
}

const MATCHING: Functions = {
  find: (...values) => {
    const found = searchIn(values, 'find');
    if (found === null) return undefined;
    return [found.index + 1, found.index + found[0].length, ...found.slice(1)];
  },
  match: (...values) => {
    const found = searchIn(values, 'match');
    return found === null ? undefined : capturesOf(found);
  },
  gmatch: (...values) => {
    const pattern = patternOf(args.text(values, 2, 'gmatch'));
    if (!pattern.global) unknown('gmatch with ^');
    const all = args.text(values, 1, 'gmatch').matchAll(pattern);
    return () => {
      const next = all.next();
      return next.done === true ? undefined : capturesOf(next.value);
    };
  },
};

/** The captures, or the whole match if there are none. */
function capturesOf(found: readonly string[]): Value[] {
  return found.slice(Math.min(1, found.length - 1));
}

const gsub: LuaFunction = (...values) => {
  const text = args.text(values, 1, 'gsub');
  const pattern = args.text(values, 2, 'gsub');
  const by = values[2];
  if (typeof by !== 'function' || values.length > 3) unknown('such replacement of string.gsub');
  let count = 0;
  const replaced = text.replace(patternOf(pattern), (...found: string[]) => {
    count += 1;
    // Behind the captures are the place and the text.
    const value = first(by(...capturesOf(found.slice(0, -2))));
    return isTrue(value) ? (textOf(value) ?? unknown('such replacement')) : String(found[0]);
  });
  return [replaced, count];
};

const format: LuaFunction = (...values) => {
  let place = 1;
  return args.text(values, 1, 'format').replace(/%(%|[^a-zA-Z%]*[a-zA-Z]?)/g, (directive) => {
    if (directive === '%%') return '%';
    place += 1;
    args.any(values, place, 'format');
    if (directive === '%s') {
      const text = args.text(values, place, 'format');
      return text.includes('\0') ? unknown('format of a zero byte') : text;
    }
    if (!/^%(d|\.0f|02x)$/.test(directive)) return unknown(`format ${directive}`);
    const number = args.number(values, place, 'format');
    if (directive === '%.0f') return whole(roundedHalfEven(number));
    // No text of a whole number says -0.
    const integer = Math.trunc(number) + 0;
    if (!Number.isSafeInteger(integer) || (directive === '%02x' && integer < 0))
      unknown(`format ${directive} of such a number`);
    return directive === '%d' ? String(integer) : integer.toString(16).padStart(2, '0');
  });
};

/** All digits of a number without a fraction. */
function whole(value: number): string {
  if (Number.isSafeInteger(value) && value !== 0) return String(value);
  if (!Number.isFinite(value)) return general(value, 1);
  return Object.is(value, -0) ? '-0' : BigInt(value).toString();
}

/** As C rounds. */
function roundedHalfEven(value: number): number {
  const down = Math.floor(value);
  const isEvenHalf = value - down === 0.5 && down % 2 === 0;
  return isEvenHalf ? down : Math.sign(value) === -1 && value > -0.5 ? -0 : Math.round(value);
}

export const STRINGS: Functions = { ...PARTS, ...MATCHING, gsub, format };
