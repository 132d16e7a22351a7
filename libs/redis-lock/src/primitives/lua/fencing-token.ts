import { fragment } from './fragment.js';
import type { LockSettings } from '../../core/api/settings.js';
import type { AcquireAnswer, AcquireTerms } from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { helperKey } from '../../core/redis/key-names.js';
import { defineScript, type Script } from '../../core/redis/script.js';
import { acquireAnswer, fencedAnswer, GRANTED } from './answers.js';

/** After 7 days the server's time, as the lower bound, keeps tokens in order. */
export const TOKEN_TTL_MS = 7 * 24 * 60 * 60 * 1_000;

/** Above 2^53-1 neither Lua nor JavaScript can distinguish a token from the next one. */
const LARGEST_TOKEN = '9007199254740991';

/** Redisson's key of the token of a lock. */
export const TOKEN_KEY = 'redisson_lock_token';
/** The commands that a script needs to take a token. */
export const TOKEN_COMMANDS = ['get', 'set', 'time'] as const;

export function tokenKey(key: string): string {
  return helperKey(TOKEN_KEY, key);
}

/**
 * How long (ms) the token key of a lock stays after a grant; 0 means without an end. Java's INCR
 * has no lower bound and renews no TTL. The token key would expire while Java holds the lock, and
 * Java's tokens would begin again at 1.
 */
export function tokenTtlMs({ interop }: Pick<LockSettings, 'interop'>): number {
  return interop === 'none' ? TOKEN_TTL_MS : 0;
}

/** Lua that writes the token in `fence`, with its TTL. */
export const WRITE_TOKEN = fragment('fence token tokenTtlMs', '')`
if tokenTtlMs > 0 then
  redis.call('set', token, fence, 'px', tokenTtlMs)
else
  redis.call('set', token, fence)
end`;

/**
 * Lua that sets `fence` to a token larger than every one before, as plain digits: Redisson's INCR
 * works on them. The server's time is the lower bound, in case the counter was lost. A grant that
 * was sent twice gets the token of the first. Needs the key `token` and the number `tokenTtlMs`.
 * @param isNew the condition under which this is another grant
 */
export function takeToken(isNew: string): string {
  return `
local fence = redis.call('get', token)
if ${isNew} or not fence then
  local time = redis.call('time')
  local counter = 0
  if fence then counter = string.find(fence, '^%d+$') and tonumber(fence) end
  if not counter then return redis.error_reply('LOCKSTATE its fencing token is not a number') end
  local next = math.max(counter + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
  if next > ${LARGEST_TOKEN} then return redis.error_reply('LOCKSTATE its fencing token is too large') end
  fence = string.format('%.0f', next)
  ${WRITE_TOKEN}
end`;
}

/**
 * A script that acquires, and its twin that also takes a token. The twin has one key and one
 * argument more.
 */
export type FencedPair<K extends string, A extends string> = Script<K, A, AcquireAnswer> & {
  readonly fenced: Script<K | 'token', A | 'tokenTtlMs', AcquireAnswer>;
};

/**
 * Declares both scripts, as `defineScript` declares one. The body ends with `return ${granted}`.
 */
export function fencedPair<K extends string, A extends string>({
  name,
  body,
  isNew,
  ...declared
}: {
  readonly name: string;
  readonly keys: readonly K[];
  readonly args: readonly A[];
  readonly numbers?: readonly NoInfer<A>[];
  readonly channels?: readonly NoInfer<A>[];
  readonly inOrder?: boolean;
  /**
   * Lua: the condition under which this is another grant, at the place where the body takes its
   * token.
   */
  readonly isNew: string;
  readonly body: (token: string, granted: string) => string;
}): FencedPair<K, A> {
  const plain = defineScript<K, A, AcquireAnswer>({
    ...declared,
    ...{ name, body: body('', String(GRANTED)), reply: acquireAnswer },
  });
  const fenced = defineScript<K | 'token', A | 'tokenTtlMs', AcquireAnswer>({
    ...declared,
    name: `${name}-fenced`,
    keys: [...declared.keys, 'token'],
    args: [...declared.args, 'tokenTtlMs'],
    numbers: [...(declared.numbers ?? []), 'tokenTtlMs'],
    body: body(takeToken(isNew), 'fence'),
    reply: fencedAnswer,
  });
  return Object.assign(plain, { fenced });
}

/** Runs the script of the pair that fits the terms. The first key is that of the lock. */
export function runPair<K extends string, A extends string>(
  connection: RedisConnection,
  pair: FencedPair<K, A>,
  keys: readonly [string, ...string[]],
  args: readonly (string | number)[],
  { fenced, minReplicas }: Pick<AcquireTerms, 'fenced' | 'minReplicas'>,
  tokenTtlMs: number,
): Promise<Reply<AcquireAnswer>> {
  if (!fenced) return connection.run(pair, keys, args, minReplicas);
  const fencedKeys = [...keys, tokenKey(keys[0])];
  return connection.run(pair.fenced, fencedKeys, [...args, tokenTtlMs], minReplicas);
}
