import { binary, call, fail, index, known, lengthOf, listOf, localAt } from './operations.js';
import type { Expression, Frame, Operand } from './operations.js';
import { Scope } from './scope.js';
import type { Cursor } from './tokens.js';
import { isTrue, numberOf, Table, type Value } from './values.js';

/** How a statement ends. */
export type Flow = 'next' | 'break' | 'return';
export type Statement = (frame: Frame) => Flow;

/** A script finds this around it. */
export interface Surroundings {
  /** Such as `KEYS` or `tonumber`. Undefined if this server does not know it. */
  global(name: string): Operand | undefined;
  /** The members of a table such as `string`, which no script can replace. */
  library(name: string): Readonly<Record<string, Value>> | undefined;
  /** Why this server refuses a call before the script runs. */
  refusal(callee: Value, firstArgument: Value): string | undefined;
}

/** How strongly an operator binds what stands on its left and on its right. */
const STRENGTH: Readonly<Record<string, readonly [left: number, right: number]>> = {
  ...{ or: [1, 1], and: [2, 2] },
  ...{ '<': [3, 3], '>': [3, 3], '<=': [3, 3], '>=': [3, 3], '~=': [3, 3], '==': [3, 3] },
  ...{ '..': [5, 4], '+': [6, 6], '-': [6, 6], '*': [7, 7], '/': [7, 7], '%': [7, 7] },
  ...{ '^': [10, 9] },
};
const UNARY = 8;

/** Turns the expressions of a text into closures. */
export abstract class ExpressionReader {
  protected scope = new Scope(undefined, true);

  constructor(
    protected readonly cursor: Cursor,
    readonly surroundings: Surroundings,
  ) {}

  protected abstract block(): Statement;

  protected expression(weakest = 0): Operand {
    const { cursor } = this;
    let left = this.#unary();
    for (;;) {
      const { kind, text, line } = cursor.token;
      const [before, behind] = (kind === 'text' ? undefined : STRENGTH[text]) ?? [0, 0];
      if (before <= weakest) return left;
      cursor.expect(text);
      left = { one: binary(text, left, this.expression(behind), line) };
    }
  }

  protected expressions(): Operand[] {
    const all = [this.expression()];
    while (this.cursor.accept(',')) all.push(this.expression());
    return all;
  }

  /** A name or an expression in brackets, and its members and calls. */
  protected suffixed(): Operand {
    const { cursor } = this;
    let read = this.#primary();
    for (;;) {
      const { line } = cursor.token;
      if (cursor.accept('.')) {
        const name = cursor.name();
        read = index(read, known(name).one, line, `field '${name}'`);
      } else if (cursor.accept('[')) {
        const key = this.#closed(']');
        const name = typeof key.value === 'string' ? key.value : '?';
        read = index(read, key.one, line, `field '${name}'`);
      } else if (cursor.accept('(')) {
        const args = cursor.accept(')') ? [] : this.#arguments();
        const refusal = this.surroundings.refusal(read.value, args[0]?.value);
        if (refusal !== undefined) cursor.refuse(refusal);
        read = call(read, args, line);
      } else return read;
    }
  }

  /** The parameters and the body of a function. */
  protected functionBody(): Expression {
    const { cursor } = this;
    const names: string[] = [];
    let takesRest = false;
    cursor.expect('(');
    while (!cursor.accept(')')) {
      takesRest = cursor.accept('...');
      if (!takesRest) names.push(cursor.name());
      cursor.accept(',');
    }
    this.scope = new Scope(this.scope, takesRest);
    for (const name of names) this.scope.declare(name);
    const body = this.block();
    cursor.expect('end');
    this.scope = this.scope.outer as Scope;
    return functionOf(names.length, takesRest, body);
  }

  #arguments(): Operand[] {
    const args = this.expressions();
    this.cursor.expect(')');
    return args;
  }

  #closed(end: string): Operand {
    const operand = this.expression();
    this.cursor.expect(end);
    return operand;
  }

  #unary(): Operand {
    const { cursor } = this;
    const { line } = cursor.token;
    if (cursor.accept('not')) {
      const { one } = this.expression(UNARY);
      return { one: (frame) => !isTrue(one(frame)) };
    }
    if (cursor.accept('#')) return { one: lengthOf(this.expression(UNARY), line) };
    if (!cursor.accept('-')) return this.#simple();
    return { one: binary('*', known(-1), this.expression(UNARY), line) };
  }

  #simple(): Operand {
    const { cursor } = this;
    const text = cursor.take('text') ?? numberOf(cursor.take('number'));
    if (text !== undefined) return known(text);
    if (cursor.accept('nil')) return known(undefined);
    if (cursor.accept('true')) return known(true);
    if (cursor.accept('false')) return known(false);
    if (cursor.accept('function')) return { one: this.functionBody() };
    if (cursor.accept('{')) return { one: this.#table() };
    if (!cursor.accept('...')) return this.suffixed();
    if (!this.scope.takesRest) cursor.refuse('... outside of a function that takes it');
    return { one: ({ rest }) => rest[0], many: ({ rest }) => rest };
  }

  #primary(): Operand {
    const { cursor, surroundings } = this;
    if (cursor.accept('(')) return { one: this.#closed(')').one };
    const { line } = cursor.token;
    const name = cursor.name();
    const found = this.scope.find(name);
    if (found !== undefined) {
      const { local, depth } = found;
      // Each round of the loop would need a local of its own.
      if (depth > 0 && local.isInLoop) cursor.refuse(`a function keeps ${name} of a loop`);
      return localAt(local.slot, depth, name);
    }
    const library = surroundings.library(name);
    if (library !== undefined && cursor.accept('.')) return this.#member(name, library);
    const operand = surroundings.global(name);
    if (operand === undefined && !cursor.is('=')) cursor.refuse(`unknown global ${name}`);
    const set = (frame: Frame, value: Expression) => {
      value(frame);
      fail(line, 'Attempt to modify a readonly table');
    };
    return { ...(operand ?? known(undefined)), says: `global '${name}'`, set };
  }

  #member(library: string, members: Readonly<Record<string, Value>>): Operand {
    const name = this.cursor.name();
    if (!Object.hasOwn(members, name)) this.cursor.refuse(`unknown function ${library}.${name}`);
    // The function that it calls must be read here.
    if (library === 'redis' && name.endsWith('call') && !this.cursor.is('('))
      this.cursor.refuse(`${name} as a value`);
    return { ...known(members[name]), says: `field '${name}'` };
  }

  #table(): Expression {
    const { cursor } = this;
    const items: Operand[] = [];
    const named: [string, Expression][] = [];
    while (!cursor.accept('}')) {
      if (cursor.token.kind === 'name' && cursor.is('=', 1)) {
        const name = cursor.name();
        cursor.expect('=');
        named.push([name, this.expression().one]);
      } else items.push(this.expression());
      if (!cursor.is('}')) cursor.expect(',');
    }
    const list = listOf(items);
    return (frame) =>
      new Table(
        list(frame),
        named.map(([name, one]) => [name, one(frame)]),
      );
  }
}

/** A function of this many parameters. */
export function functionOf(parameters: number, takesRest: boolean, body: Statement): Expression {
  return (outer) =>
    (...slots) => {
      const rest = takesRest ? slots.slice(parameters) : [];
      if (slots.length > parameters) slots.length = parameters;
      const frame: Frame = { slots, outer, rest, result: [] };
      body(frame);
      return frame.result;
    };
}
