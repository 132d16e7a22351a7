import { createHash } from 'node:crypto';

import { LockBackendError } from '../api/errors.js';

/** The answer of a script: integers and strings, flat. RESP2 cannot carry floats and nil. */
export type RawReply = string | number | readonly (string | number)[];

/**
 * Announce by PUBLISH, by PUBLISH or SPUBLISH of a Cluster, or by both. A subscriber of one kind
 * receives no messages of the other.
 */
export type PublishMode = 'plain' | 'broadcast' | 'sharded' | 'both';

export interface ScriptText {
  readonly lua: string;
  readonly sha1: string;
}

/** A Lua script. Callers use names instead of the numbers of KEYS and ARGV. */
export interface Script<K extends string, A extends string, R> extends ScriptText {
  readonly name: string;
  readonly keys: readonly K[];
  readonly args: readonly A[];
  /**
   * Several calls can be one script: its body reads keys and arguments only by their names. It has
   * a key, because a Cluster needs one to route the calls.
   */
  readonly readsByName: boolean;
  /** Redis executes calls with the same first key in the order of the calls, also after a cut. */
  readonly inOrder: boolean;
  /** The same script with another command than PUBLISH for its announcements. */
  readonly inMode: Readonly<Record<Exclude<PublishMode, 'plain'>, () => ScriptText>>;
  decode(raw: unknown): R;
}

/** The parts of an EVAL or EVALSHA. */
export interface ScriptCall extends ScriptText {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/**
 * Declares a script. Its body sees every key and argument as a local of the declared name.
 *
 * Every script must be safe to run twice: after a cut the client cannot know whether it ran.
 * Declare arguments that count or measure as `numbers`. The script refuses them before its first
 * write unless they are whole and not negative. Redis does not undo the earlier writes of a script
 * that fails.
 */
export function defineScript<K extends string, A extends string, R>(declaration: {
  name: string;
  keys: readonly K[];
  args: readonly A[];
  numbers?: readonly NoInfer<A>[];
  /**
   * Arguments that are channels, or prefixes of channels. The body writes to them by
   * `announce(channel, message)`.
   */
  channels?: readonly NoInfer<A>[];
  /** Calls with the same first key wait for each other. Each costs a round trip. */
  inOrder?: boolean;
  body: string;
  reply: (raw: RawReply) => R | undefined;
}): Script<K, A, R> {
  const { name, keys, args, numbers = [], channels = [], body, reply } = declaration;
  const textIn = (mode: PublishMode): ScriptText => {
    const lines = [
      ...keys.map((key, i) => `local ${key} = KEYS[${String(i + 1)}]`),
      ...args.map((arg, i) => `local ${arg} = ARGV[${String(i + 1)}]`),
      ...numbers.map(numberGuard),
      ...(body.includes('countBy') ? [`local countBy = ${COUNT_BY[mode]}`] : []),
      ...(channels.length > 0 ? [ANNOUNCE[mode]] : []),
      body.trim(),
    ];
    return textOf(lines.join('\n'));
  };
  return {
    ...textIn('plain'),
    name,
    keys,
    args,
    readsByName: keys.length > 0 && !/\b(KEYS|ARGV)\b/.test(body),
    inOrder: declaration.inOrder ?? false,
    inMode: inOtherModes(textIn),
    decode(raw) {
      // Nearly every answer is a number.
      const decoded = typeof raw === 'number' || isRawReply(raw) ? reply(raw) : undefined;
      if (decoded !== undefined) return decoded;
      // The script was still executed.
      throw new LockBackendError(`Script ${name} returned an answer that makes no sense`, {
        retryable: false,
        outcome: 'unknown',
      });
    },
  };
}

/** Made on first use: most of them are never needed. */
function inOtherModes(textIn: (mode: PublishMode) => ScriptText) {
  return {
    broadcast: once(() => textIn('broadcast')),
    sharded: once(() => textIn('sharded')),
    both: once(() => textIn('both')),
  };
}

/**
 * The text for a connection that announces in this mode. A channel is an argument even if it is
 * sharded. As a key that never exists, it would make Redis answer TRYAGAIN while its slot moves.
 */
export function textIn(script: Script<string, string, unknown>, mode: PublishMode): ScriptText {
  return mode === 'plain' ? script : script.inMode[mode]();
}

/**
 * One script for several calls, which answers a list. The body sees only its own keys and
 * arguments, by their names. Each call fails alone; its earlier writes stay, as in a single call.
 */
export function forMany({
  lua,
  keys,
  args,
}: Pick<ScriptCall, 'lua' | 'keys' | 'args'>): ScriptText {
  const [keyCount, argCount] = [String(keys.length), String(args.length)];
  const body = lua
    .replace(/^(local \w+ = KEYS\[)/gm, '$1keysBefore + ')
    .replace(/^(local \w+ = ARGV\[)/gm, '$1argsBefore + ');
  return textOf(`local function call(keysBefore, argsBefore)
${body}
end
local answers = {}
for i = 0, #KEYS / ${keyCount} - 1 do
  local isDone, answer = pcall(call, i * ${keyCount}, i * ${argCount})
  -- Before Redis 7 the error of a command is a text here; an error of Lua itself always is.
  if not isDone and type(answer) ~= 'table' then
    answer = tostring(answer)
    answer = redis.error_reply(string.find(answer, '^%u+ ') and answer or 'ERR ' .. answer)
  end
  -- A nil would end the list.
  if answer == nil then answer = false end
  answers[i + 1] = answer
end
return answers`);
}

const announceBy = (command: string, answer: string) => `local function announce(channel, message)
  local receivers = redis.pcall('${command}', channel, message)
  return type(receivers) ~= 'table' and ${answer}
end`;

/**
 * The number of receivers, true if Redis cannot count them, or false if the message was not sent. A
 * missing right to publish must not hide what the script has done. `countBy` is the PUBSUB command
 * that counts subscribers, if there is one.
 */
const ANNOUNCE: Readonly<Record<PublishMode, string>> = {
  plain: announceBy('publish', 'receivers'),
  // A node of a Cluster counts only its own subscribers.
  broadcast: announceBy('publish', 'true'),
  sharded: announceBy('spublish', 'receivers'),
  both: `local function announce(channel, message)
  local toAll = redis.pcall('publish', channel, message)
  local toShard = redis.pcall('spublish', channel, message)
  return type(toAll) ~= 'table' or type(toShard) ~= 'table'
end`,
};

/** Lua: the PUBSUB command that counts subscribers. */
const COUNT_BY: Readonly<Record<PublishMode, string>> = {
  plain: `'numsub'`,
  // A node of a Cluster counts only its own subscribers.
  broadcast: 'nil',
  sharded: `'shardnumsub'`,
  both: 'nil',
};

function textOf(lua: string): ScriptText {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function numberGuard(name: string): string {
  return (
    `if not string.find(${name}, '^%d+$') or #${name} > 15 then ` +
    `return redis.error_reply('LOCKARG ${name} is not a whole number') end\n` +
    `${name} = tonumber(${name})`
  );
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isRawReply(raw: unknown): raw is RawReply {
  return isScalar(raw) || (Array.isArray(raw) && raw.every(isScalar));
}
