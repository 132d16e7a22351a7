import { unknown } from '../unknown.js';
import {
  first,
  isTrue,
  LuaError,
  numberOf,
  Table,
  textOf,
  typeName,
  type LuaFunction,
  type Value,
  type Values,
} from './values.js';

/** A call of a function: its locals, and those of the functions around it. */
export interface Frame {
  readonly slots: Value[];
  readonly outer: Frame | undefined;
  readonly rest: Value[];
  result: Values;
}

export type Expression = (frame: Frame) => Value;

/** An expression, and what errors say of it. */
export interface Operand {
  readonly one: Expression;
  /** A call and `...` have several values. */
  readonly many?: (frame: Frame) => Values;
  /** Such as `local 'queue'`. */
  readonly says?: string | undefined;
  /** Known before the script runs. */
  readonly value?: Value;
  /** Assigns to it, if that is possible. It is read before the value, but is used after. */
  readonly set?: (frame: Frame, value: Expression) => void;
}

/** How Redis calls every script in its errors. */
export const SCRIPT = 'user_script';

/** Where the script is that runs. Only one runs at a time. */
export const running = { line: 0 };

export function fail(line: number, message: string): never {
  // A function that `pcall` calls itself has no line.
  throw new LuaError(line === 0 ? message : `${SCRIPT}:${String(line)}: ${message}`, line);
}

function wrongType(line: number, doing: string, value: Value, { says }: Operand): never {
  const type = `a ${typeName(value)} value`;
  fail(line, `attempt to ${doing} ${says === undefined ? type : `${says} (${type})`}`);
}

export function known(value: Value): Operand {
  return { one: () => value, value };
}

export function localAt(slot: number, depth: number, name: string): Operand {
  const says = `${depth === 0 ? 'local' : 'upvalue'} '${name}'`;
  const frameOf = (frame: Frame): Frame => {
    let found = frame;
    for (let i = depth; i > 0; i--) found = found.outer as Frame;
    return found;
  };
  const set = (frame: Frame, value: Expression) => {
    frameOf(frame).slots[slot] = value(frame);
  };
  if (depth === 0) return { one: ({ slots }) => slots[slot], says, set };
  if (depth === 1) return { one: ({ outer }) => outer?.slots[slot], says, set };
  return { one: (frame) => frameOf(frame).slots[slot], says, set };
}

export function index(table: Operand, key: Expression, line: number, says?: string): Operand {
  return {
    one: (frame) => {
      const from = table.one(frame);
      const at = key(frame);
      if (from instanceof Table) return from.get(at);
      if (typeof from !== 'string') return wrongType(line, 'index', from, table);
      running.line = line;
      // Lua finds the functions of `string` there.
      return at === 'err' || at === 'ok' ? undefined : unknown('such member of a text');
    },
    says,
    set: (frame, value) => {
      const target = table.one(frame);
      const at = key(frame);
      const next = value(frame);
      running.line = line;
      if (!(target instanceof Table)) return wrongType(line, 'index', target, table);
      target.set(at ?? fail(line, 'table index is nil'), next);
    },
  };
}

/** All values of a list of expressions: the last one may have several. */
export function listOf(operands: readonly Operand[]): (frame: Frame) => Value[] {
  const last = operands.at(-1)?.many;
  const ones = (last === undefined ? operands : operands.slice(0, -1)).map(({ one }) => one);
  return (frame) => {
    const values: Value[] = [];
    for (const one of ones) values.push(one(frame));
    return last === undefined ? values : values.concat(last(frame));
  };
}

export function call(callee: Operand, args: readonly Operand[], line: number): Operand {
  const target = callee.one;
  const begin = (value: Value): LuaFunction => {
    running.line = line;
    return typeof value === 'function' ? value : wrongType(line, 'call', value, callee);
  };
  const list = listOf(args);
  let many = (frame: Frame): Values => {
    const work = target(frame);
    const values = list(frame);
    return begin(work)(...values);
  };
  const [a, b, c] = args.map(({ one }) => one);
  // Most calls have two or three arguments: they need no list.
  if (a !== undefined && b !== undefined && args.length <= 3 && args.at(-1)?.many === undefined) {
    many = (frame) => {
      const work = target(frame);
      const x = a(frame);
      const y = b(frame);
      if (c === undefined) return begin(work)(x, y);
      const z = c(frame);
      return begin(work)(x, y, z);
    };
  }
  return { one: (frame) => first(many(frame)), many };
}

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a - Math.floor(a / b) * b,
  '^': (a, b) => a ** b,
};

type Ordered = number | string;
const COMPARISON: Readonly<Record<string, (a: Ordered, b: Ordered) => boolean>> = {
  '<': (a, b) => a < b,
  '>': (a, b) => a > b,
  '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b,
};

/** An operator between two operands. */
export function binary(operator: string, left: Operand, right: Operand, line: number): Expression {
  const [a, b] = [left.one, right.one];
  if (operator === '==') return (frame) => a(frame) === b(frame);
  if (operator === '~=') return (frame) => a(frame) !== b(frame);
  if (operator === 'and' || operator === 'or') {
    const isAnd = operator === 'and';
    return (frame) => {
      const value = a(frame);
      return isTrue(value) === isAnd ? b(frame) : value;
    };
  }
  const arithmetic = ARITHMETIC[operator];
  if (arithmetic !== undefined) {
    return (frame) => {
      const x = a(frame);
      const y = b(frame);
      if (typeof x === 'number' && typeof y === 'number') return arithmetic(x, y);
      running.line = line;
      const what = 'perform arithmetic on';
      const one = numberOf(x) ?? wrongType(line, what, x, left);
      return arithmetic(one, numberOf(y) ?? wrongType(line, what, y, right));
    };
  }
  const comparison = COMPARISON[operator];
  return comparison === undefined
    ? concat(left, right, line)
    : compare(comparison, operator, a, b, line);
}

function concat(left: Operand, right: Operand, line: number): Expression {
  return (frame) => {
    const x = left.one(frame);
    const y = right.one(frame);
    running.line = line;
    const one = textOf(x) ?? wrongType(line, 'concatenate', x, left);
    return one + (textOf(y) ?? wrongType(line, 'concatenate', y, right));
  };
}

function compare(
  comparison: (a: Ordered, b: Ordered) => boolean,
  operator: string,
  a: Expression,
  b: Expression,
  line: number,
): Expression {
  return (frame) => {
    const x = a(frame);
    const y = b(frame);
    if (typeof x === 'number' && typeof y === 'number') return comparison(x, y);
    if (typeof x === 'string' && typeof y === 'string') return comparison(x, y);
    // Lua turns `a > b` into `b < a`.
    const [one, other] = (operator.startsWith('>') ? [y, x] : [x, y]).map(typeName);
    return fail(
      line,
      `attempt to compare ${one === other ? `two ${String(one)} values` : `${String(one)} with ${String(other)}`}`,
    );
  };
}

export function lengthOf(operand: Operand, line: number): Expression {
  return (frame) => {
    const value = operand.one(frame);
    if (typeof value === 'string') return value.length;
    if (value instanceof Table) return value.items.length;
    return wrongType(line, 'get length of', value, operand);
  };
}
