import { unknown } from '../unknown.js';
import { fail } from './operations.js';
import { stringsOf } from './strings.js';
import { LuaError, numberOf, Table, textOf, typeName } from './values.js';
import type { LuaFunction, Value } from './values.js';

/** Reads the arguments of a function of the library. */
export class Arguments {
  constructor(readonly caller: { line: number }) {}

  fail(message: string): never {
    return fail(this.caller.line, message);
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

  #wrong(values: readonly Value[], place: number, name: string, wanted: string): never {
    const got = values.length < place ? 'no value' : typeName(values[place - 1]);
    this.fail(`bad argument #${String(place)} to '${name}' (${wanted} expected, got ${got})`);
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

function globalsOf(args: Arguments): Functions {
  return {
    tonumber: (...values) => {
      if (values.length < 2) return numberOf(values[0]);
      const digits = args.text(values, 1, 'tonumber').toLowerCase();
      const isHex = values[1] === 16 && /^[\da-f]+$/.test(digits);
      return isHex ? parseInt(digits, 16) : undefined;
    },
    tostring: (value) => textOf(value) ?? nameOf(value),
    type: typeName,
    ipairs: (...values) => [step, args.table(values, 1, 'ipairs'), 0],
    unpack: (...values) => {
      if (values.length > 2) unknown('end of unpack');
      const { list } = args.table(values, 1, 'unpack');
      return list.slice(args.number(values, 2, 'unpack', 1) - 1);
    },
    select: (...values) =>
      values[0] === '#' ? values.length - 1 : values.slice(args.number(values, 1, 'select')),
    pcall: (work, ...values) => {
      args.caller.line = 0;
      try {
        return [true, ...[(work as LuaFunction)(...values)].flat()];
      } catch (error) {
        if (error instanceof LuaError) return [false, error.message];
        throw error;
      }
    },
  };
}

function mathOf(args: Arguments): Functions {
  const of =
    (name: 'abs' | 'floor' | 'max' | 'min'): LuaFunction =>
    (...values) => {
      const numbers = [args.number(values, 1, name)];
      for (let place = 2; place <= values.length; place++)
        numbers.push(args.number(values, place, name));
      return Math[name](...(numbers as [number]));
    };
  return { abs: of('abs'), floor: of('floor'), max: of('max'), min: of('min') };
}
