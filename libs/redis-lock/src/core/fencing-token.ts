import { helperKey } from './key-space.js';

/** Long after any resource has forgotten a token, its floor by the server's time takes over. */
export const TOKEN_TTL_MS = 7 * 24 * 60 * 60 * 1_000;

/** Past this a token could not be told from the next one, neither in Lua nor in JavaScript. */
const LARGEST_TOKEN = '9007199254740991';

/** Redisson's key of the token of a lock. */
export function tokenKey(key: string): string {
  return helperKey('redisson_lock_token', key);
}

/**
 * Lua that leaves in `fence` a token larger than every one before, as plain digits on which Redisson's
 * INCR works. The server's time as its floor keeps that true when the counter was lost. A grant that
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
  redis.call('set', token, fence, 'px', tokenTtlMs)
end`;
}
