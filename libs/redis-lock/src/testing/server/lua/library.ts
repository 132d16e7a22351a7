import { unknown } from '../unknown.js';
import { args, type Functions } from './arguments.js';
import { running } from './operations.js';
import { STRINGS } from './strings.js';
import { LuaError, numberOf, textOf, typeName } from './values.js';
import type { LuaFunction, Value, Table } from './values.js';

/** The next item of a list, with its place. */
const step: LuaFunction = (table, at) => {
  const next = Number(at) + 1;
  const value = (table as Table).get(next);
  return value === undefined ? undefined : [next, value];
};

/** The text of a value that has only a name. Those of tables and functions differ in each run. */
function nameOf(value: Value): string {
  if (value === undefined) return 'nil';
  return typeof value === 'boolean' ? String(value) : unknown(`text of a ${typeName(value)}`);
}

const pcall: LuaFunction = (work, ...values) => {
  if (typeof work !== 'function') return unknown(`pcall of a ${typeName(work)}`);
  const { line } = running;
  running.line = 0;
  try {
    return [true, ...[work(...values)].flat()];
  } catch (error) {
    if (error instanceof LuaError) return [false, error.message];
    running.line ||= line;
    throw error;
  }
};

const GLOBALS: Functions = {
  tonumber: (...values) => {
    const base = args.number(values, 2, 'tonumber', 10);
    if (base === 10) return numberOf(args.any(values, 1, 'tonumber'));
    const digits = args.text(values, 1, 'tonumber');
    const isHex = base === 16 && /^[\da-fA-F]{1,12}$/.test(digits);
    return isHex ? parseInt(digits, 16) : unknown(`number ${digits} of base ${String(base)}`);
  },
  tostring: (...values) => {
    const value = args.any(values, 1, 'tostring');
    return textOf(value) ?? nameOf(value);
  },
  type: (...values) => typeName(args.any(values, 1, 'type')),
  ipairs: (...values) => [step, args.table(values, 1, 'ipairs'), 0],
  unpack: (...values) => {
    if (values.length > 2) unknown('end of unpack');
    const { items } = args.table(values, 1, 'unpack');
    const start = args.number(values, 2, 'unpack', 1);
    return start < 1 ? unknown('unpack from there on') : items.slice(start - 1);
  },
  select: (...values) => {
    if (values[0] === '#') return values.length - 1;
    const from = args.number(values, 1, 'select');
    return from < 1 ? unknown('select from there on') : values.slice(from);
  },
  pcall,
};

function mathOf(name: 'abs' | 'floor' | 'max' | 'min'): LuaFunction {
  return (...values) => {
    const numbers = [args.number(values, 1, name)];
    for (let place = 2; place <= values.length; place++)
      numbers.push(args.number(values, place, name));
    if (numbers.some(Number.isNaN)) unknown(`math.${name} of what is no number`);
    return Math[name](...(numbers as [number]));
  };
}

/** The functions of Lua 5.1 that this server knows: the global ones, and those of its tables. */
export const LIBRARY: Readonly<Record<'' | 'string' | 'math', Functions>> = {
  '': GLOBALS,
  string: STRINGS,
  math: { abs: mathOf('abs'), floor: mathOf('floor'), max: mathOf('max'), min: mathOf('min') },
};
