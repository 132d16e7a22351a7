import type { CommandReply } from '../../libs/redis-lock/src/testing/server/commands/command.js';
import {
  CommandError,
  SortedSet,
  type Store,
  type TypeName,
} from '../../libs/redis-lock/src/testing/server/store.js';
import { CountingServer } from '../support/in-process/counting-server.js';
import { beginRounds } from './watch.js';

type Text = string;
/** A key with its type, the wall time of its end, and its value in a flat list. */
export type Row = readonly [key: Text, type: TypeName, endsAt: number, value: readonly Text[]];

/** A call of a script, and all that it sees of its server. */
export interface Call {
  readonly script: string;
  readonly keys: readonly Text[];
  readonly args: readonly Text[];
  readonly wall: number;
  readonly before: readonly Row[];
  /** How many listen to a channel of either kind. */
  readonly listeners: readonly (readonly [channel: Text, plain: number, sharded: number])[];
  readonly info: Readonly<Record<string, string>>;
  readonly isFull: boolean;
  /** Commands that its user has no right to. */
  readonly denied: readonly string[];
}

/** The outcome of a call. */
export interface Effects {
  readonly answer: unknown;
  readonly after: readonly Row[];
  readonly messages: readonly (readonly [channel: Text, message: Text])[];
}

const READS: { readonly [T in TypeName]: (value: never) => readonly Text[] } = {
  string: ({ text }: { text: string }) => [text],
  hash: (value: Map<string, string>) => [...value].flat(),
  list: (value: readonly string[]) => [...value],
  set: (value: Set<string>) => [...value],
  zset: (value: SortedSet) => value.sorted.flatMap(([member, score]) => [member, String(score)]),
};

const pairs = (flat: readonly Text[]) =>
  flat.flatMap((one, i) => (i % 2 === 0 ? [[one, flat[i + 1] ?? ''] as const] : []));

const WRITES: { readonly [T in TypeName]: (flat: readonly Text[]) => unknown } = {
  string: ([text = '']) => ({ text }),
  hash: (flat) => new Map(pairs(flat)),
  list: (flat) => [...flat],
  set: (flat) => new Set(flat),
  zset: (flat) => {
    const made = new SortedSet();
    for (const [member, score] of pairs(flat)) made.set(member, Number(score));
    return made;
  },
};

/** All keys of a server, in the order of their names. */
export function rowsOf(store: Store): Row[] {
  return store.keys.sort().map((key) => {
    const type = store.typeOf(key) ?? 'string';
    const value = READS[type](store.find(key, type) as never);
    return [key, type, store.endOf(key) ?? Infinity, type === 'set' ? [...value].sort() : value];
  });
}

/** A server on which a call can be repeated. */
class Replay extends CountingServer {
  readonly messages: [string, string][] = [];

  constructor(private readonly call: Call) {
    const { wall, before, isFull, denied } = call;
    super({ wall: () => wall, now: () => wall } as CountingServer['clock'], 'replay');
    for (const [key, type, endsAt, value] of before) {
      this.store.put(key, type, WRITES[type](value) as never, endsAt);
    }
    this.isFull = isFull;
    for (const command of denied) this.allow(`-${command}`);
  }

  override publish(channel: string, message: string, isSharded: boolean): number {
    this.messages.push([channel, message]);
    return this.listenersOf(channel, isSharded);
  }

  override listenersOf(channel: string, isSharded: boolean): number {
    const [, plain = 0, sharded = 0] = this.call.listeners.find(([of]) => of === channel) ?? [];
    return isSharded ? sharded : plain;
  }

  override info(section: string): string {
    return this.call.info[section] ?? super.info(section);
  }
}

/** Repeats a call with the script as it is now, changed or not. */
export function effectsOf(call: Call, lua: string): Effects {
  const server = new Replay(call);
  beginRounds();
  let answer: unknown;
  try {
    answer = shown(server.evaluate({ lua, sha1: '' }, call.keys, call.args));
  } catch (error) {
    answer = { error: error instanceof CommandError ? plain(error.message) : 'none, it is broken' };
  }
  return { answer, after: rowsOf(server.store), messages: server.messages };
}

function shown(reply: CommandReply): unknown {
  if (reply instanceof CommandError) return { error: plain(reply.message) };
  return Array.isArray(reply) ? reply.map(shown) : reply;
}

/** Without its place in the script. */
function plain(message: string): string {
  return message
    .replace(/ script: \w*, on @user_script:\d+\.$/, '')
    .replace(/user_script:\d+: /, '');
}
