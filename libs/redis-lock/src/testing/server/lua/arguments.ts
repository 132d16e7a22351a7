import { unknown } from '../unknown.js';
import { fail, running } from './operations.js';
import { numberOf, Table, textOf, typeName, type LuaFunction, type Value } from './values.js';

export type Functions = Readonly<Record<string, LuaFunction>>;

function wrong(values: readonly Value[], place: number, name: string, wanted: string): never {
  const got = values.length < place ? 'no value' : typeName(values[place - 1]);
  // A function that `pcall` calls itself has no name.
  const called = running.line === 0 ? '?' : name;
  const problem = `${wanted} expected, got ${got}`;
  return fail(running.line, `bad argument #${String(place)} to '${called}' (${problem})`);
}

/** Reads the arguments of a function of the library. */
export const args = {
  text: (values: readonly Value[], place: number, name: string): string =>
    textOf(values[place - 1]) ?? wrong(values, place, name, 'string'),

  number: (values: readonly Value[], place: number, name: string, otherwise?: number): number =>
    numberOf(values[place - 1] ?? otherwise) ?? wrong(values, place, name, 'number'),

  table(values: readonly Value[], place: number, name: string): Table {
    const value = values[place - 1];
    return value instanceof Table ? value : wrong(values, place, name, 'table');
  },

  any: (values: readonly Value[], place: number, name: string): Value =>
    values.length < place ? unknown(`${name} of nothing`) : values[place - 1],
};
