import { unknown } from '../unknown.js';

/** The values of Lua 5.1. A text is a string of bytes: each of its characters is one byte. */
export type Value = undefined | boolean | number | string | Table | LuaFunction;
export type LuaFunction = (...args: Value[]) => Values;
/** The outcome of a call: one value, or a list of none or of several. */
export type Values = Value | Value[];

/** An error that a script can catch, as a text. */
export class LuaError extends Error {
  constructor(
    message: string,
    readonly line: number,
    /** The answer to the client, unless the script catches the error. */
    readonly uncaught = `ERR ${message}`,
  ) {
    super(message);
  }
}

/** A list from 1 on, and the rest by name. */
export class Table {
  readonly #list: Value[];
  #named: Map<Value, Value> | undefined;
  #hasGap = false;

  constructor(list: Value[] = [], named: Iterable<readonly [Value, Value]> = []) {
    const { length } = list;
    while (list.length > 0 && list.at(-1) === undefined) list.pop();
    // Lua may count to any of the gaps.
    if (list.length < length && list.includes(undefined))
      unknown('list with a gap that ends in nil');
    this.#list = list;
    for (const [key, value] of named) this.set(key, value);
  }

  /** @throws {UnknownError} the script has left a gap: Lua may count to any of the gaps */
  get items(): readonly Value[] {
    return this.#hasGap ? unknown('length of a list with a gap') : this.#list;
  }

  get(key: Value): Value {
    return typeof key === 'number' ? this.#list[key - 1] : this.#named?.get(key);
  }

  set(key: Value, value: Value): void {
    const list = this.#list;
    if (typeof key !== 'number') (this.#named ??= new Map()).set(key, value);
    else if (value !== undefined && key >= 1) {
      this.#hasGap ||= key > list.length + 1;
      list[key - 1] = value;
    } else if (value === undefined && key === list.length && !list.includes(undefined)) list.pop();
    else unknown('list with a gap');
  }
}

export function first(values: Values): Value {
  return Array.isArray(values) ? values[0] : values;
}

export function isTrue(value: Value): boolean {
  return value !== undefined && value !== false;
}

export function typeName(value: Value): string {
  if (value === undefined) return 'nil';
  return value instanceof Table ? 'table' : typeof value;
}

/** The number that a text stands for; undefined if it is none. */
export function numberOf(value: Value): number | undefined {
  if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
  const number = Number(value);
  if (String(number) === value && Number.isFinite(number)) return number;
  const text = value.replace(/^[ \t-\r]+|[ \t-\r]+$/g, '');
  if (/^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$|^0x[\da-f]+$/i.test(text)) return Number(text);
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return /^[+-]?(nan|0x)|\0/i.test(text) ? unknown(`number ${text}`) : undefined;
}

/** A text, or a number as Lua writes it; undefined for other values. */
export function textOf(value: Value): string | undefined {
  return typeof value === 'number'
    ? general(value, 14)
    : typeof value === 'string'
      ? value
      : undefined;
}

/** By `%.<digits>g` of C. */
export function general(value: number, digits: number): string {
  if (Number.isSafeInteger(value) && value !== 0 && Math.abs(value) < 10 ** digits)
    return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '-nan' : value > 0 ? 'inf' : '-inf';
  const size = Math.abs(value);
  if (size === 0) return Object.is(value, -0) ? '-0' : '0';
  const trimmed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  // C rounds a half to the even digit.
  if (new RegExp(`^\\d\\.\\d{${String(digits - 1)}}50*e`).test(size.toExponential(60)))
    unknown(`text of ${String(value)}`);
  const [mantissa = '', exponent = ''] = value.toExponential(digits - 1).split('e');
  if (Number(exponent) >= -4 && Number(exponent) < digits)
    return trimmed(value.toPrecision(digits));
  return `${trimmed(mantissa)}e${exponent.replace(/^([+-])(\d)$/, '$10$2')}`;
}
