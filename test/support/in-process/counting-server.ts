import { createHash } from 'node:crypto';
import type { Command } from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import { COMMANDS, RedisServer } from '../../../libs/redis-lock/src/testing/server/redis-server.js';
import { CommandError } from '../../../libs/redis-lock/src/testing/server/store.js';
import { unknown } from '../../../libs/redis-lock/src/testing/server/unknown.js';
import { COMMANDS_OF_SPECS } from './commands.js';

for (const [name, command] of Object.entries(COMMANDS_OF_SPECS)) COMMANDS.set(name, command);

/** The server of the library's test kit, and what clients and operators do beside scripts. */
export class CountingServer extends RedisServer {
  readonly calls = new Map<string, number>();
  readonly scripts = new Map<string, string>();
  /** As Redis counts them: a write of the same value is one, a removal of nothing is none. */
  changes = 0;
  /** No script may call these. */
  readonly #denied = new Set<string>();
  /** A client has used this, and the server does not know it. */
  readonly unknown = new Set<string>();
  /** Those who listen to a pattern of channels. */
  readonly everywhere = new Set<(channel: string, message: string) => boolean>();

  /** Calls back with the number of replicas that have all writes: there is none here. */
  whenInStep(_replicas: number, _ms: number, callback: (have: number) => void): void {
    callback(0);
  }

  override commandOf(name: string, args: readonly string[], isFull: boolean): Command {
    const lower = name.toLowerCase();
    this.count(lower, args);
    if (this.#denied.has(lower))
      throw new CommandError(
        "ERR The user executing the script can't run this command or subcommand",
      );
    const command = super.commandOf(name, args, isFull);
    if (!command.isWrite) return command;
    const run: Command['run'] = (...given) => {
      const reply = command.run(...given);
      const isEmpty = reply === 0 || reply === null || (Array.isArray(reply) && reply.length === 0);
      this.changes += Number(!(isEmpty && REMOVES.test(name)));
      return reply;
    };
    return { ...command, run };
  }

  override publish(channel: string, message: string, isSharded: boolean): number {
    const receivers = super.publish(channel, message, isSharded);
    if (isSharded) return receivers;
    return receivers + [...this.everywhere].filter((send) => send(channel, message)).length;
  }

  count(name: string, [subcommand = '']: readonly string[]): void {
    const isContainer = CONTAINERS.has(name);
    const command = isContainer ? `${name}|${subcommand.toLowerCase()}` : name;
    this.calls.set(command, (this.calls.get(command) ?? 0) + 1);
  }

  /** Takes a command from scripts, or gives all of them back. */
  allow(rule: string): void {
    if (rule === '+@all') this.#denied.clear();
    else if (/^-[a-z]+$/.test(rule) && COMMANDS.has(rule.slice(1))) this.#denied.add(rule.slice(1));
    else unknown(`ACL rule ${rule}`);
  }

  load(lua: string): string {
    const sha1 = createHash('sha1').update(lua, 'latin1').digest('hex');
    this.scripts.set(sha1, lua);
    return sha1;
  }
}

const REMOVES = /del|rem|pop|expire|persist/i;

const CONTAINERS = new Set(['client', 'config', 'pubsub', 'script']);
