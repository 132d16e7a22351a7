import { createHash } from 'node:crypto';

import { LockBackendError } from './errors.js';

export type ScriptKeys<K extends string> = Readonly<Record<K, string>> | readonly string[];
export type ScriptArgs<A extends string> =
  Readonly<Record<A, string | number>> | readonly (string | number)[];

/** What a script may answer: integers and strings, flat. Floats and nil do not survive the way. */
export type RawReply = string | number | readonly (string | number)[];

/** A Lua script that is called by names instead of by the numbers of KEYS and ARGV. */
export interface Script<K extends string, A extends string, R> {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
  readonly keys: readonly K[];
  readonly args: readonly A[];
  decode(raw: unknown): R;
}

/**
 * Declares a script. Its body sees every key and argument as a local of the declared name.
 *
 * Every script must be safe to run twice: after a cut the client cannot know whether it ran.
 * Arguments that count or measure are declared as `numbers`: they are refused before the first
 * write unless they are whole and not negative, since Redis does not undo what a failing script
 * wrote before.
 */
export function defineScript<K extends string, A extends string, R>(declaration: {
  name: string;
  keys: readonly K[];
  args: readonly A[];
  numbers?: readonly NoInfer<A>[];
  /** Arguments that are channels: the body tells them by `announce(channel, message)`. */
  channels?: readonly NoInfer<A>[];
  body: string;
  reply: (raw: RawReply) => R | undefined;
}): Script<K, A, R> {
  const { name, keys, args, numbers = [], channels = [], body, reply } = declaration;
  const lua = [
    ...keys.map((key, i) => `local ${key} = KEYS[${String(i + 1)}]`),
    ...args.map((arg, i) => `local ${arg} = ARGV[${String(i + 1)}]`),
    ...numbers.map(numberGuard),
    ...(channels.length > 0 ? [ANNOUNCE] : []),
    body.trim(),
  ].join('\n');
  return {
    name,
    lua,
    sha1: createHash('sha1').update(lua).digest('hex'),
    keys,
    args,
    decode(raw) {
      const decoded = isRawReply(raw) ? reply(raw) : undefined;
      if (decoded === undefined) {
        // It was executed all the same.
        throw new LockBackendError(`Script ${name} gave an answer that makes no sense`, {
          retryable: false,
          outcome: 'unknown',
        });
      }
      return decoded;
    },
  };
}

/** The values of keys or arguments in the order in which the script declared them. */
export function inOrder<T extends string | number>(
  names: readonly string[],
  values: Readonly<Record<string, T>> | readonly T[],
): readonly T[] {
  if (isList(values)) return values;
  return names.map((name) => values[name] as T);
}

function isList<T>(values: Readonly<Record<string, T>> | readonly T[]): values is readonly T[] {
  return Array.isArray(values);
}

/** Whether the message went out. A missing right to publish must not hide what the script has done. */
const ANNOUNCE = `local function announce(channel, message)
  return type(redis.pcall('publish', channel, message)) ~= 'table'
end`;

function numberGuard(name: string): string {
  return (
    `if not string.find(${name}, '^%d+$') or #${name} > 15 then ` +
    `return redis.error_reply('LOCKARG ${name} is not a whole number') end\n` +
    `${name} = tonumber(${name})`
  );
}

function isRawReply(raw: unknown): raw is RawReply {
  const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'number';
  return isScalar(raw) || (Array.isArray(raw) && raw.every(isScalar));
}
