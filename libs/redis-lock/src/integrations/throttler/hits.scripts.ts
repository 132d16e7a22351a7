import { defineScript } from '../../core/redis/script.js';

/** The outcome of one request. Times are in milliseconds. */
export interface Hit {
  readonly totalHits: number;
  readonly expiresInMs: number;
  readonly isBlocked: boolean;
  readonly blockExpiresInMs: number;
}

/**
 * One request: counted, or refused. The key is a sorted set of members by the time when they end:
 * - one for each request of the last `ttlMs`, by its id: a request that arrives twice counts once;
 * - `window`, when the counting began;
 * - `block`, while every request is refused.
 *
 * A refused request leaves no member, so that there are never more than `limit` of them.
 */
export const HIT = defineScript({
  name: 'throttler.hit',
  keys: ['hits'],
  args: ['request', 'ttlMs', 'limit', 'blockMs'],
  numbers: ['ttlMs', 'limit', 'blockMs'],
  body: `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function endOf(member) return tonumber(redis.call('zscore', hits, member) or 0) end
local function enter(member, ends) redis.call('zadd', hits, string.format('%.0f', ends), member) end

local window, block = endOf('window'), endOf('block')
if blockMs > 0 and block > 0 and block <= now then
  -- After a block the count begins anew.
  redis.call('del', hits)
  if window > now then enter('window', window) end
else
  redis.call('zremrangebyscore', hits, '-inf', string.format('%.0f', now))
end
local total = redis.call('zcard', hits) - (window > now and 1 or 0) - (block > now and 1 or 0)
if window <= now then
  window = now + ttlMs
  enter('window', window)
end

local isBlocked, blockEnds = 0, now
if not redis.call('zscore', hits, request) then
  if blockMs > 0 and (block > now or total >= limit) then
    if block <= now then
      block = now + blockMs
      enter('block', block)
    end
    isBlocked, blockEnds = 1, block
  elseif blockMs == 0 and total >= limit then
    isBlocked, blockEnds = 1, window
    local first = redis.call('zrange', hits, 0, 2, 'withscores')
    for i = 1, #first, 2 do
      if first[i] ~= 'window' and first[i] ~= 'block' then
        blockEnds = tonumber(first[i + 1])
        break
      end
    end
  else
    enter(request, now + ttlMs)
    total = total + 1
  end
end
local last = redis.call('zrange', hits, -1, -1, 'withscores')
redis.call('pexpire', hits, string.format('%.0f', last[2] - now))
return {total + isBlocked, window - now, isBlocked, blockEnds - now}`,
  reply: (raw): Hit | undefined => {
    if (!Array.isArray(raw) || !raw.every((part) => typeof part === 'number')) return undefined;
    const [totalHits = 0, expiresInMs = 0, isBlocked, blockExpiresInMs] = raw;
    if (blockExpiresInMs === undefined) return undefined;
    return { totalHits, expiresInMs, isBlocked: isBlocked === 1, blockExpiresInMs };
  },
});
