import { Status, type CommandReply } from './commands/command.js';
import { LIBRARY } from './lua/library.js';
import { known, running, SCRIPT } from './lua/operations.js';
import { read } from './lua/parser.js';
import { first, general, LuaError, Table } from './lua/values.js';
import type { LuaFunction, Value } from './lua/values.js';
import { CommandError } from './store.js';
import { unknown, UnknownError } from './unknown.js';

/**
 * Runs a command of a script.
 * @throws {CommandError} Redis refuses it
 */
export type RunCommand = (name: string, args: readonly string[]) => CommandReply;

const NONE: RunCommand = () => null;

/** A script, ready to run. */
export class Program {
  readonly #main: LuaFunction;
  #keys = new Table();
  #args = new Table();
  #command = NONE;

  /**
   * @param knows whether there is a command of this name
   * @throws {UnknownError} the script has a part that the server does not know
   */
  constructor(
    private readonly name: string,
    lua: string,
    knows: (command: string) => boolean,
  ) {
    const { '': globals, ...libraries } = LIBRARY;
    const call = this.#redisCall((error) => {
      throw new LuaError(error, running.line, error);
    });
    const pcall = this.#redisCall(errorTable);
    const all = { ...libraries, redis: { call, pcall, error_reply: errorReply } };
    const given = { KEYS: { one: () => this.#keys }, ARGV: { one: () => this.#args } };
    this.#main = read(name, lua, {
      library: (of) => (Object.hasOwn(all, of) ? all[of as keyof typeof all] : undefined),
      global: (of) => {
        if (Object.hasOwn(given, of)) return given[of as keyof typeof given];
        return Object.hasOwn(globals, of) ? known(globals[of]) : undefined;
      },
      refusal: (callee, command) => {
        const isCommand = (callee === call || callee === pcall) && typeof command === 'string';
        return !isCommand || knows(command) ? undefined : `unknown command ${command}`;
      },
    });
  }

  /** @throws {CommandError} the script ended with an error */
  run(
    command: RunCommand,
    keys: readonly string[],
    args: readonly string[],
    sha1: string,
  ): CommandReply {
    this.#command = command;
    this.#keys = new Table([...keys]);
    this.#args = new Table([...args]);
    let reply: CommandReply;
    try {
      reply = commandReplyOf(first(this.#main()));
    } catch (error) {
      if (error instanceof UnknownError)
        throw new UnknownError(`${this.name}:${String(running.line)}: ${error.message}`);
      if (!(error instanceof LuaError)) throw error;
      const { uncaught, line } = error;
      throw new CommandError(`${uncaught} script: ${sha1}, on @${SCRIPT}:${String(line)}.`);
    } finally {
      // A program outlives its servers.
      this.#command = NONE;
    }
    if (reply instanceof CommandError) throw reply;
    return reply;
  }

  #redisCall(failed: (error: string) => Value): LuaFunction {
    return (...values) => {
      if (values.length === 0) {
        return failed('ERR Please specify at least one argument for this redis lib call');
      }
      const args: string[] = [];
      for (const value of values) {
        const arg = argumentOf(value);
        if (arg !== undefined) args.push(arg);
      }
      const name = args.shift();
      if (name === undefined || args.length + 1 < values.length) {
        return failed('ERR Lua redis lib command arguments must be strings or integers');
      }
      try {
        return valueOf(this.#command(name, args));
      } catch (error) {
        if (error instanceof CommandError) return failed(error.message);
        throw error;
      }
    };
  }
}

/** Redis puts a code in front of an error of a single word, and of one without a code. */
const errorReply: LuaFunction = (message) => {
  if (typeof message !== 'string') return errorTable('ERR wrong number or type of arguments');
  const words = message.replace(/^-/, '');
  return errorTable(words.includes(' ') ? words : `ERR ${words}`);
};

function errorTable(message: string): Table {
  return new Table([], [['err', message]]);
}

/** Redis before 7.2 writes all numbers so. */
function argumentOf(value: Value): string | undefined {
  if (typeof value === 'number') return general(value, 17);
  return typeof value === 'string' ? value : undefined;
}

/** The answer of a command, as a script sees it. */
function valueOf(reply: CommandReply): Value {
  if (reply === null) return false;
  if (typeof reply === 'string' || typeof reply === 'number') return reply;
  if (reply instanceof CommandError) return errorTable(reply.message);
  return reply instanceof Status
    ? new Table([], [['ok', reply.text]])
    : new Table(reply.map(valueOf));
}

/** The answer of a script. */
function commandReplyOf(value: Value): CommandReply {
  if (value === undefined || value === false || typeof value === 'function') return null;
  if (value === true) return 1;
  if (typeof value === 'number') return integerOf(value);
  if (typeof value === 'string') return value;
  const error = value.get('err');
  if (typeof error === 'string') return new CommandError(ofOneLine(error));
  const status = value.get('ok');
  if (typeof status === 'string') return new Status(ofOneLine(status));
  for (const type of ['double', 'map', 'set', 'big_number', 'verbatim_string'])
    if (value.get(type) !== undefined) unknown(`answer of type ${type}`);
  const { items } = value;
  const end = items.indexOf(undefined);
  return items.slice(0, end === -1 ? undefined : end).map(commandReplyOf);
}

/** Redis cuts a fraction off, and takes what is no integer of 64 bits for the least one. */
function integerOf(value: number): number {
  const isWithin = value >= -(2 ** 63) && value < 2 ** 63;
  return isWithin ? Math.trunc(value) + 0 : -(2 ** 63);
}

function ofOneLine(words: string): string {
  return words.replace(/[\r\n]/g, ' ');
}
