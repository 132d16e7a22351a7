import type { Redis } from 'ioredis';
import { wordsOf } from '../../libs/redis-lock/src/core/redis/reply-error.js';
import type { ScriptText } from '../../libs/redis-lock/src/core/redis/script.js';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { bytesOf } from '../../libs/redis-lock/src/testing/server/bytes.js';
import {
  Status,
  type CommandReply,
} from '../../libs/redis-lock/src/testing/server/commands/command.js';
import { general } from '../../libs/redis-lock/src/testing/server/lua/values.js';
import { CommandError, type Store } from '../../libs/redis-lock/src/testing/server/store.js';
import { isBeforeRedis7 } from '../support/server-facts.js';
import { CHANNELS } from './script-calls.js';

/** How far the time of a pair is ahead of the server's (ms). No script of the library sees it. */
const AHEAD = 'ahead';

/** The time of the pair: the server's, and how far the pair is ahead. */
const TIME = `
local server = redis
local function micros()
  local time = server.call('time')
  return time[1] * 1000000 + time[2] + (server.call('get', '${AHEAD}') or 0) * 1000
end
local function now() return string.format('%.0f', math.floor(micros() / 1000)) end`;

/** Scripts see the time of the pair, in whole milliseconds. */
const AHEAD_OF_SERVER = `${TIME}
local redis = {
  call = function(...)
    if ... ~= 'time' then return server.call(...) end
    local ms = now()
    return { string.format('%.0f', math.floor(ms / 1000)), string.format('%.0f', ms % 1000 * 1000) }
  end,
  pcall = server.pcall,
  error_reply = server.error_reply,
}
local before = now()`;

/** Waits for the beginning of a millisecond, unless a script's time stands still. */
const BEGINNING = `${TIME}
local first = micros()
for i = 1, 10000 do
  local time = micros()
  if time % 1000 < 200 or (i == 100 and time == first) then break end
end
return now()`;

/** Every key with its type, its value and the rest of its time. */
const LOOK = `
local found = {}
for _, key in ipairs(server.call('keys', '*')) do
  local type = server.call('type', key).ok
  local value = type == 'string' and { server.call('get', key) }
    or type == 'hash' and server.call('hgetall', key)
    or type == 'list' and server.call('lrange', key, 0, -1)
    or type == 'set' and server.call('smembers', key)
    or type == 'zset' and server.call('zrange', key, 0, -1, 'withscores')
  if key ~= '${AHEAD}' then found[#found + 1] = { key, type, server.call('pttl', key), value } end
end
if not isDone and type(answer) ~= 'table' then
  answer = { err = string.find(answer, '^%u+ ') and answer or 'ERR ' .. answer }
end
if answer == nil then answer = false end
return { before, now(), answer, found }`;

/** Lets time pass for all keys. */
const PASS = `
for _, key in ipairs(server.call('keys', '*')) do
  local left = server.call('pttl', key)
  if left >= 0 then server.call('pexpire', key, left - ARGV[1]) end
end
server.call('incrby', '${AHEAD}', ARGV[1])`;

/** All in one script, so that hardly any time passes. The errors of the inner one keep their lines. */
const observed = (lua: string) =>
  `${AHEAD_OF_SERVER.replaceAll('\n', ' ')} local isDone, answer = xpcall(function() ${lua}\nend, function(error) return error end)${LOOK}`;

type Key = readonly [key: string, type: string, leftMs: number, value: readonly string[]];

/** The answer of one server, its keys afterwards, and the messages that it has sent. */
export interface Seen {
  readonly answer: unknown;
  readonly keys: readonly Key[];
  readonly messages: readonly (readonly [channel: string, message: string])[];
}

/** A real server and the one in process, at the same time and with the same keys. */
export class Pair {
  readonly #shas = new Map<string, Promise<string>>();
  readonly #heard: [string, string][] = [];
  readonly #told: [string, string][] = [];
  #nowMs = 0;
  readonly #ours: RedisServer;

  private constructor(
    private readonly redis: Redis,
    private readonly ear: Redis,
    runId: string,
  ) {
    this.#ours = new RedisServer({ ...systemClock, wall: () => this.#nowMs }, runId);
  }

  static async of(redis: Redis, ear: Redis): Promise<Pair> {
    const [, runId = ''] = /run_id:(\w+)/.exec(await redis.info('server')) ?? [];
    const pair = new Pair(redis, ear, runId);
    await pair.#listen();
    return pair;
  }

  async #listen(): Promise<void> {
    const hear = (channel: Buffer, message: Buffer) =>
      this.#heard.push([channel.toString('latin1'), message.toString('latin1')]);
    const subscriber = { message: (to: string, text: string) => this.#told.push([to, text]) };
    this.ear.on('messageBuffer', hear).on('smessageBuffer', hear);
    await this.ear.subscribe(...CHANNELS);
    if (!isBeforeRedis7) await this.ear.ssubscribe(...CHANNELS);
    for (const channel of CHANNELS.map(bytesOf)) {
      this.#ours.subscribe(channel, subscriber, false);
      if (!isBeforeRedis7) this.#ours.subscribe(channel, subscriber, true);
    }
  }

  end(): void {
    this.ear.disconnect();
  }

  /** Certain if the real server has run it within one millisecond, which began before it. */
  async run(script: ScriptText, keys: readonly string[], args: readonly string[]) {
    const theirs = await this.#observe(script.lua, keys, args);
    await this.ear.ping();
    const answer = this.#answer(() =>
      this.#ours.evaluate(script, keys.map(bytesOf), args.map(bytesOf)),
    );
    const ours: Seen = { answer, keys: lookIn(this.#ours.store), messages: [...this.#told] };
    const seen: Seen = { answer: theirs.answer, keys: theirs.keys, messages: [...this.#heard] };
    if (!theirs.isCertain) await this.#copy();
    this.#heard.length = this.#told.length = 0;
    return { theirs: seen, ours, isCertain: theirs.isCertain };
  }

  /** Runs it on empty servers until that took no more than a millisecond. */
  async certainly(script: ScriptText, keys: readonly string[], args: readonly string[]) {
    for (;;) {
      await this.redis.flushall();
      this.#ours.store.clear();
      const seen = await this.run(script, keys, args);
      if (seen.isCertain) return seen;
    }
  }

  /** A command, as a script of its own: scripts and commands are refused alike. */
  async command(words: readonly string[]) {
    return this.run({ lua: 'return redis.call(unpack(ARGV))', sha1: '' }, [], words);
  }

  /** Time passes on both sides. */
  async pass(ms: number): Promise<void> {
    // The key that says how far they are ahead takes memory.
    if (this.#ours.isFull) return;
    await this.#observe(PASS, [], [String(ms)]);
    await this.#copy();
  }

  async fill(isFull: boolean): Promise<void> {
    await this.redis.config('SET', 'maxmemory', isFull ? '1' : '0');
    this.#ours.isFull = isFull;
  }

  async #observe(lua: string, keys: readonly string[], args: readonly string[]) {
    const [beginning, sha] = await Promise.all([this.#load(BEGINNING), this.#load(observed(lua))]);
    const [[, begun] = [], [, reply] = []] =
      (await this.redis
        .pipeline()
        .evalsha(beginning, 0)
        .callBuffer('evalsha', sha, keys.length, ...keys, ...args)
        .exec()) ?? [];
    const [before, after, answer, look] = latin1(reply) as [string, string, unknown, Key[]];
    this.#nowMs = Number(before);
    // Keys expire by the time at which a script began. Before Redis 7.2, TIME goes on meanwhile.
    const isCertain = begun === before && before === after;
    return { answer, keys: sorted(look), isCertain };
  }

  #load(lua: string): Promise<string> {
    const loading = this.#shas.get(lua) ?? this.redis.script('LOAD', lua).then(String);
    this.#shas.set(lua, loading);
    return loading;
  }

  #answer(work: () => CommandReply): unknown {
    try {
      return shown(work());
    } catch (error) {
      if (error instanceof CommandError) return shown(error);
      throw error;
    }
  }

  /** Puts the keys of the real server into ours. */
  async #copy(): Promise<void> {
    const { keys, isCertain } = await this.#observe('', [], []);
    // One that ends in this very millisecond cannot be written.
    if (!isCertain || keys.some(([, , leftMs]) => leftMs === 0)) return this.#copy();
    const { isFull } = this.#ours;
    this.#ours.isFull = false;
    this.#ours.store.clear();
    for (const [key, type, leftMs, value] of keys) {
      const [command, ...args] = WRITES[type]?.(value) ?? [];
      this.#ours.command(command ?? '', [key, ...args]);
      if (leftMs > 0) this.#ours.command('pexpire', [key, String(leftMs)]);
    }
    this.#ours.isFull = isFull;
  }
}

const WRITES: Readonly<Record<string, (value: readonly string[]) => string[]>> = {
  string: (value) => ['set', ...value],
  hash: (value) => ['hset', ...value],
  list: (value) => ['rpush', ...value],
  set: (value) => ['sadd', ...value],
  zset: (value) => [
    'zadd',
    ...value.flatMap((member, i) => (i % 2 === 0 ? [value[i + 1] ?? '', member] : [])),
  ],
};

/** As `LOOK` does. */
function lookIn(store: Store): Key[] {
  return sorted(
    store.keys.map((key) => {
      const type = store.typeOf(key) ?? 'none';
      const endsAt = store.endOf(key) ?? 0;
      return [
        key,
        type,
        endsAt === Infinity ? -1 : endsAt - store.now,
        READS[type]?.(store, key) ?? [],
      ];
    }),
  );
}

const READS: Readonly<Record<string, (store: Store, key: string) => string[]>> = {
  string: (store, key) => [store.find(key, 'string')?.text ?? ''],
  hash: (store, key) => [...(store.find(key, 'hash') ?? [])].flat(),
  list: (store, key) => [...(store.find(key, 'list') ?? [])],
  set: (store, key) => [...(store.find(key, 'set') ?? [])],
  zset: (store, key) =>
    (store.find(key, 'zset')?.sorted ?? []).flatMap(([member, score]) => [
      member,
      general(score, 17),
    ]),
};

function shown(reply: CommandReply): unknown {
  if (reply instanceof CommandError) return { error: plain(reply.message) };
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(shown) : rounded(reply);
}

function latin1(reply: unknown): unknown {
  if (reply instanceof Error) return { error: plain(reply.message) };
  if (Array.isArray(reply)) return reply.map(latin1);
  return Buffer.isBuffer(reply) ? reply.toString('latin1') : rounded(reply);
}

/** iovalkey is not exact in the last digits of an integer that needs more than 53 bits. */
function rounded(reply: unknown): unknown {
  if (typeof reply !== 'number' || Number.isSafeInteger(reply)) return reply;
  return Number(reply.toPrecision(15));
}

/** By the key; the members of a set have no order. */
function sorted(look: readonly Key[]): Key[] {
  return look
    .map(([key, type, leftMs, value]): Key => {
      return [key, type, leftMs, type === 'set' ? [...value].sort() : value];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The words of an error, without the place in the script. Every version words one refusal anew. */
function plain(message: string): string {
  return wordsOf(message.replace(/ script: \w*, on @user_script:\d+\.$/, '')).replace(
    /^.*(?= arguments must be strings or integers$)/,
    'Such',
  );
}
