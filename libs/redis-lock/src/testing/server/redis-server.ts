import type { Clock } from '../../core/time/clock.js';
import type { ScriptText } from '../../core/redis/script.js';
import { bytesOf } from './bytes.js';
import { SERVER } from './commands/channels.js';
import type { Command, CommandReply, Surroundings } from './commands/command.js';
import { HASHES } from './commands/hashes.js';
import { KEYS, STRINGS } from './commands/keys.js';
import { LISTS } from './commands/lists.js';
import { SETS } from './commands/sets.js';
import { SORTED_SETS } from './commands/sorted-sets.js';
import { Program } from './program.js';
import { CommandError, Store } from './store.js';
import { unknown } from './unknown.js';

/** By their names in lower case. The specs of the library add those that only they use. */
export const COMMANDS = new Map(
  Object.entries({ ...SERVER, ...KEYS, ...STRINGS, ...HASHES, ...LISTS, ...SETS, ...SORTED_SETS }),
);

const isKnown = (command: string) => COMMANDS.has(command.toLowerCase());

/** Ready for all servers of this process, and so they keep none of them. */
const programs = new Map<string, Program>();

/** Runs another text in place of this script's, until the returned function is called. */
export function replaceScript(lua: string, by: string): () => void {
  const before = programs.get(lua);
  programs.set(lua, new Program('a script', bytesOf(by), isKnown));
  return () => {
    if (before === undefined) programs.delete(lua);
    else programs.set(lua, before);
  };
}

/** Receives the messages of its channels. */
export interface Subscriber {
  message(channel: string, message: string, isSharded: boolean): void;
}

/**
 * Redis in this process: keys that expire by the clock, commands, scripts and channels. Its texts are
 * strings of bytes.
 */
export class RedisServer implements Surroundings {
  readonly store = new Store();
  /** A memory without room: commands that need some are refused. */
  isFull = false;
  readonly #plain = new Map<string, Set<Subscriber>>();
  readonly #sharded = new Map<string, Set<Subscriber>>();

  constructor(
    readonly clock: Clock,
    readonly id: string = crypto.randomUUID().replaceAll('-', ''),
  ) {}

  get micros(): number {
    return Math.floor(this.clock.wall() * 1_000);
  }

  /**
   * Runs a script, whose time stands still.
   * @throws {CommandError} Redis refuses it, or it ends with an error
   * @throws {UnknownError} the script has a part that this server does not know
   */
  evaluate(
    script: ScriptText & { readonly name?: string },
    keys: readonly string[],
    args: readonly string[],
  ): CommandReply {
    const { lua, sha1, name = 'a script' } = script;
    let program = programs.get(lua);
    if (program === undefined) {
      program = new Program(name, bytesOf(lua), isKnown);
      programs.set(lua, program);
    }
    this.store.now = Math.floor(this.clock.wall());
    const { isFull } = this;
    let hasWritten = false;
    const command = (of: string, words: readonly string[]) => {
      // Redis refuses only the first write of a script for want of memory.
      const found = this.commandOf(of, words, isFull && !hasWritten);
      hasWritten ||= found.isWrite;
      return found.run(this.store, words, this);
    };
    return program.run(command, keys, args, sha1);
  }

  /**
   * Runs one command.
   * @throws {CommandError} Redis refuses it
   */
  command(name: string, args: readonly string[]): CommandReply {
    this.store.now = Math.floor(this.clock.wall());
    return this.commandOf(name, args, this.isFull).run(this.store, args, this);
  }

  /**
   * The command for these arguments.
   * @throws {CommandError} Redis refuses it
   */
  commandOf(name: string, args: readonly string[], isFull: boolean): Command {
    const command = COMMANDS.get(name) ?? COMMANDS.get(name.toLowerCase());
    if (command === undefined) return unknown(`command ${name}`);
    if (args.length < command.least || args.length > command.most) {
      throw new CommandError('ERR Wrong number of args calling Redis command from script');
    }
    if (command.grows && isFull) {
      throw new CommandError("OOM command not allowed when used memory > 'maxmemory'.");
    }
    return command;
  }

  /** The channels with a subscriber. */
  get channels(): string[] {
    return [...this.#plain.keys()];
  }

  /** @returns a function that ends it */
  subscribe(channel: string, subscriber: Subscriber, isSharded: boolean): () => void {
    const of = isSharded ? this.#sharded : this.#plain;
    const all = of.get(channel) ?? new Set();
    of.set(channel, all.add(subscriber));
    return () => {
      all.delete(subscriber);
      if (all.size === 0 && of.get(channel) === all) of.delete(channel);
    };
  }

  publish(channel: string, message: string, isSharded: boolean): number {
    const all = (isSharded ? this.#sharded : this.#plain).get(channel);
    for (const one of all ?? []) one.message(channel, message, isSharded);
    return all?.size ?? 0;
  }

  listenersOf(channel: string, isSharded: boolean): number {
    return (isSharded ? this.#sharded : this.#plain).get(channel)?.size ?? 0;
  }

  info(section: string): string {
    if (section === 'replication') return 'role:master\r\n';
    if (section !== 'server') unknown(`INFO ${section}`);
    // It has never restarted, and so forgotten nothing: it votes in a red lock at once.
    const uptime = Math.floor(this.clock.wall() / 1_000);
    return `run_id:${this.id}\r\nuptime_in_seconds:${String(uptime)}\r\n`;
  }
}
