import { ExpressionReader, functionOf, type Statement, type Surroundings } from './expressions.js';
import { fail, known, listOf, type Expression, type Frame, type Operand } from './operations.js';
import { Cursor } from './tokens.js';
import { first, isTrue, numberOf, typeName, type LuaFunction, type Value } from './values.js';

/**
 * Turns a script of Lua 5.1 into a function without parameters, in one pass.
 * @throws {UnknownError} it is no Lua, or has a part that this server does not know
 */
export function read(name: string, lua: string, surroundings: Surroundings): LuaFunction {
  return new StatementReader(new Cursor(name, lua), surroundings).script();
}

class StatementReader extends ExpressionReader {
  script(): LuaFunction {
    const body = this.block();
    if (this.cursor.take('end') === undefined)
      this.cursor.refuse(`unexpected ${this.cursor.token.text}`);
    const outside: Frame = { slots: [], outer: undefined, rest: [], result: [] };
    return functionOf(0, true, body)(outside) as LuaFunction;
  }

  protected block(): Statement {
    return this.scope.block(() => {
      const all: Statement[] = [];
      while (!this.#isAtEnd()) {
        const isLast = this.cursor.is('return') || this.cursor.is('break');
        all.push(this.#statement());
        this.cursor.accept(';');
        if (isLast && !this.#isAtEnd()) this.cursor.refuse('a statement that is never reached');
      }
      const [only] = all;
      if (all.length === 1 && only !== undefined) return only;
      return (frame) => {
        for (const statement of all) {
          const flow = statement(frame);
          if (flow !== 'next') return flow;
        }
        return 'next';
      };
    });
  }

  #isAtEnd(): boolean {
    const { cursor } = this;
    const { kind, text } = cursor.token;
    return kind === 'end' || (kind === 'keyword' && /^(end|else|elseif)$/.test(text));
  }

  #statement(): Statement {
    const { cursor } = this;
    const keyword = cursor.take('keyword');
    switch (keyword) {
      case undefined:
        return this.#assignmentOrCall();
      case 'local':
        return this.#local();
      case 'if':
        return this.#if();
      case 'while':
        return this.#while();
      case 'for':
        return this.#for();
      case 'do':
        return this.#closed();
      case 'return':
        return this.#return();
      case 'break':
        return () => 'break';
      default:
        return cursor.refuse(`unknown statement ${keyword}`);
    }
  }

  #local(): Statement {
    const { cursor, scope } = this;
    if (cursor.accept('function')) {
      // It sees itself.
      const slot = scope.declare(cursor.name());
      return setAll([slot], [{ one: this.functionBody() }]);
    }
    const names = this.#names();
    const values = cursor.accept('=') ? this.expressions() : [known(undefined)];
    // The values do not see the new names.
    return setAll(
      names.map((name) => scope.declare(name)),
      values,
    );
  }

  #names(): string[] {
    const names = [this.cursor.name()];
    while (this.cursor.accept(',')) names.push(this.cursor.name());
    return names;
  }

  #if(): Statement {
    const { cursor } = this;
    const condition = this.expression().one;
    cursor.expect('then');
    const body = this.block();
    const otherwise = this.#else();
    return (frame) => (isTrue(condition(frame)) ? body(frame) : otherwise(frame));
  }

  #else(): Statement {
    const { cursor } = this;
    if (cursor.accept('elseif')) return this.#if();
    const body: Statement = cursor.accept('else') ? this.block() : () => 'next';
    cursor.expect('end');
    return body;
  }

  #while(): Statement {
    const condition = this.expression().one;
    const body = this.scope.block(() => this.#closed('do'), true);
    return (frame) => {
      while (isTrue(condition(frame))) {
        const flow = body(frame);
        if (flow !== 'next') return flow === 'return' ? flow : 'next';
      }
      return 'next';
    };
  }

  #for(): Statement {
    const { cursor } = this;
    const { line } = cursor.token;
    const names = this.#names();
    const isCount = cursor.accept('=');
    if (!isCount) cursor.expect('in');
    const values = this.expressions();
    return this.scope.block(() => {
      const slots = names.map((name) => this.scope.declare(name));
      const body = this.#closed('do');
      return isCount
        ? count(slots[0] ?? 0, values, body, line)
        : each(slots, listOf(values), body, line);
    }, true);
  }

  #closed(opening?: string): Statement {
    if (opening !== undefined) this.cursor.expect(opening);
    const body = this.block();
    this.cursor.expect('end');
    return body;
  }

  #return(): Statement {
    const values = this.#isAtEnd() || this.cursor.is(';') ? [] : this.expressions();
    const [only] = values;
    const result =
      values.length === 1 && only !== undefined ? (only.many ?? only.one) : listOf(values);
    return (frame) => {
      frame.result = result(frame);
      return 'return';
    };
  }

  #assignmentOrCall(): Statement {
    const { cursor } = this;
    const targets = [this.suffixed()];
    const { many } = targets[0] as Operand;
    if (many !== undefined) {
      return (frame) => {
        many(frame);
        return 'next';
      };
    }
    while (cursor.accept(',')) targets.push(this.suffixed());
    cursor.expect('=');
    const setters = targets.map(({ set }) => set ?? cursor.refuse('this cannot be set'));
    const areLocals = targets.every(({ says }) => /^(local|upvalue) /.test(says ?? ''));
    if (targets.length > 1 && !areLocals) cursor.refuse('several fields cannot be set at once');
    return assign(setters, this.expressions());
  }
}

type Setter = NonNullable<Operand['set']>;
type Many = (frame: Frame) => Value[];

/** All values are known before the last one is set, and the first one after it. */
function assign(setters: readonly Setter[], values: readonly Operand[]): Statement {
  const [setter, value] = [setters[0], values[0]];
  if (setters.length === 1 && values.length === 1 && setter !== undefined && value !== undefined) {
    return (frame) => {
      setter(frame, value.one);
      return 'next';
    };
  }
  const list = listOf(values);
  return (frame) => {
    const all = list(frame);
    for (let i = setters.length - 1; i >= 0; i--) setters[i]?.(frame, () => all[i]);
    return 'next';
  };
}

function setAll(slots: readonly number[], values: readonly Operand[]): Statement {
  return assign(
    slots.map((slot) => (frame, value) => {
      frame.slots[slot] = value(frame);
    }),
    values,
  );
}

/** `for i = start, end, step` */
function count(slot: number, values: readonly Operand[], body: Statement, line: number): Statement {
  const bounds = [...values, known(1)].slice(0, 3).map(({ one }) => one);
  const names = ['initial value', 'limit', 'step'];
  const bound = (frame: Frame, i: number) =>
    numberOf((bounds[i] as Expression)(frame)) ??
    fail(line, `'for' ${String(names[i])} must be a number`);
  return (frame) => {
    const [start, end, step] = [bound(frame, 0), bound(frame, 1), bound(frame, 2)];
    for (let i = start; step > 0 ? i <= end : i >= end; i += step) {
      frame.slots[slot] = i;
      const flow = body(frame);
      if (flow !== 'next') return flow === 'return' ? flow : 'next';
    }
    return 'next';
  };
}

/** `for a, b in …`: an iterator, its state, and the first control value. */
function each(slots: readonly number[], list: Many, body: Statement, line: number): Statement {
  return (frame) => {
    const [next, state, start] = list(frame);
    if (typeof next !== 'function') return fail(line, `attempt to call a ${typeName(next)} value`);
    for (let control = start; ;) {
      const found = next(state, control);
      control = first(found);
      if (control === undefined) return 'next';
      const all = Array.isArray(found) ? found : [found];
      for (const [i, slot] of slots.entries()) frame.slots[slot] = all[i];
      const flow = body(frame);
      if (flow !== 'next') return flow === 'return' ? flow : 'next';
    }
  };
}
