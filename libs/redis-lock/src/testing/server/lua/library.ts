import { unknown } from '../unknown.js';
import { fail, running } from './operations.js';
import { stringsOf } from './strings.js';
import { LuaError, numberOf, Table, textOf, typeName } from './values.js';
import type { LuaFunction, Value } from './values.js';

/** Reads the arguments of a function of the library. */
export class Arguments {
  fail(message: string): never {
    return fail(running.line, message);
  }

  text(values: readonly Value[], place: number, name: string): string {
    return textOf(values[place - 1]) ?? this.#wrong(values, place, name, 'string');
  }

  number(values: readonly Value[], place: number, name: string, otherwise?: number): number {
    const value = values[place - 1] ?? otherwise;
    return numberOf(value) ?? this.#wrong(values, place, name, 'number');
  }

  table(values: readonly Value[], place: number, name: string): Table {
    const value = values[place - 1];
    return value instanceof Table ? value : this.#wrong(values, place, name, 'table');
  }

  any(values: readonly Value[], place: number, name: string, why = 'value expected'): Value {
    return values.length < place ? this.bad(place, name, why) : values[place - 1];
  }

  bad(place: number, name: string, why: string): never {
    // What `pcall` calls itself has no name.
    const called = running.line === 0 ? '?' : name;
    this.fail(`bad argument #${String(place)} to '${called}' (${why})`);
  }

  #wrong(values: readonly Value[], place: number, name: string, wanted: string): never {
    const got = values.length < place ? 'no value' : typeName(values[place - 1]);
    this.bad(place, name, `${wanted} expected, got ${got}`);
  }
}

export type Functions = Readonly<Record<string, LuaFunction>>;

/** The functions of Lua 5.1 that this server knows: the global ones, and those of its tables. */
export function libraryOf(args: Arguments): Readonly<Record<'' | 'string' | 'math', Functions>> {
  return { '': globalsOf(args), string: stringsOf(args), math: mathOf(args) };
}

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

function globalsOf(args: Arguments): Functions {
  return {
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
      const { list } = args.table(values, 1, 'unpack');
      const start = args.number(values, 2, 'unpack', 1);
      return start < 1 ? unknown('unpack from there on') : list.slice(start - 1);
    },
    select: (...values) => {
      if (values[0] === '#') return values.length - 1;
      const from = Math.trunc(args.number(values, 1, 'select'));
      if (from === 0 || from <= -values.length) args.bad(1, 'select', 'index out of range');
      return values.slice(from);
    },
    pcall,
  };
}

function mathOf(args: Arguments): Functions {
  const of =
    (name: 'abs' | 'floor' | 'max' | 'min'): LuaFunction =>
    (...values) => {
      const numbers = [args.number(values, 1, name)];
      for (let place = 2; place <= values.length; place++)
        numbers.push(args.number(values, place, name));
      if (numbers.some(Number.isNaN)) unknown(`math.${name} of what is no number`);
      return Math[name](...(numbers as [number]));
    };
  return { abs: of('abs'), floor: of('floor'), max: of('max'), min: of('min') };
}
