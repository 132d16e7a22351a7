import { fragment } from '../lua/fragment.js';
import { acquireAnswer, GRANTED, REFUSED, releaseAnswer } from '../lua/answers.js';
import { CHECK_LEASE } from '../lua/hash-lock.js';
import { numberIn } from '../lua/once-only.js';
import { defineScript } from '../../core/redis/script.js';

/**
 * The permits on the wire are those of Redisson's RPermitExpirableSemaphore. A string `name` counts
 * the free ones. A sorted set `{name}:timeout` has the others, 16 raw bytes → the end of the lease.
 * The number of freed permits is published on `redisson_sc:{name}`.
 *
 * Unlike in Redisson, the server's clock decides. A script adds to the counter what it has taken
 * from the set in the same step. So a script that ioredis sends again changes nothing.
 */

/** The score of a permit without a lease. Only a Java service writes it; it never ends. */
export const NO_LEASE = '922337203685477';

/** The answer of a script that found more expired permits than it may take back in one step. */
const UNFINISHED = 'unfinished';

/**
 * The most expired permits that one script takes back. More would delay the other clients of Redis.
 */
const RECLAIM_AT_ONCE = 10_000;

/**
 * Lua that turns `permits`, hexadecimal and separated by commas, into the bytes that Redis stores.
 */
export const IDS = fragment('permits', 'ids')`
local ids = {}
for id in string.gmatch(permits, '[^,]+') do
  if #id ~= 32 or string.find(id, '%X') then
    return redis.error_reply('LOCKARG a permit id has 32 hexadecimal digits')
  end
  ids[#ids + 1] = string.gsub(id, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
end
if #ids == 0 then return redis.error_reply('LOCKARG there is no permit id') end`;

/** Lua for the server's time in milliseconds. */
export const NOW = fragment('', 'now time')`
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** Lua that reads the free permits; false when their number was never set. */
export const FREE = numberIn('counter', 'free');

/**
 * Lua that wakes the waiters of all processes. A Java service reads the number of free permits as
 * an int.
 */
export const TELL_FREE = `announce(channel, string.format('%.0f', math.min(free, 2147483647)))`;

/** Lua: the number of permits whose lease is over, and that no script has taken back yet. */
export const EXPIRED = `redis.call('zcount', leases, '-inf', string.format('%.0f', now))`;

/** A repeated attempt finds its own permits. All were written at once; some may have expired. */
const COUNT_MISSING = `
local missing = #ids
local present = {}
if ends and redis.call('zscore', leases, ids[1]) then
  for i = 1, #ids do
    local ends = tonumber(redis.call('zscore', leases, ids[i]) or 0)
    if ends > now then
      missing = missing - 1
      present[i] = ends
    end
  end
end`;

/** Lua for the time at which the next lease ends; nil when no permit is in use. */
const NEXT_END = `redis.call('zrange', leases, 0, 0, 'withscores')[2]`;

const RECLAIM = fragment('counter ends free leases now', 'expired')`
local expired = 0
if ends and tonumber(ends) <= now then
  expired = ${EXPIRED}
  local some = math.min(expired, ${String(RECLAIM_AT_ONCE)})
  -- The counter comes first: a permit that is in neither place would be lost. This removes nothing,
  -- but with its memory full, Redis allows INCRBY only after another write.
  redis.call('zrem', leases, '')
  if free then free = redis.call('incrby', counter, some) end
  local removed = redis.pcall('zremrangebyrank', leases, 0, some - 1)
  if type(removed) == 'table' then
    if free then redis.call('decrby', counter, some) end
    return removed
  end
  if some < expired then return '${UNFINISHED}' end
  ends = ${NEXT_END}
end`;

/** The set shows how many permits are new. The counter loses only those. */
const TAKE = `
local entries = {}
for i = 1, #ids do
  -- Never shorter: an old attempt that arrives late must not undo a renewal.
  entries[2 * i - 1] = string.format('%.0f', math.max(now + tonumber(leaseMs), present[i] or 0))
  entries[2 * i] = ids[i]
end
local pttl = redis.call('pttl', counter)
local added = redis.call('zadd', leases, unpack(entries))
local expiry = pttl > 0 and redis.pcall('pexpire', leases, pttl)
if added > 0 then
  local counted = type(expiry) == 'table' and expiry or redis.pcall('decrby', counter, added)
  -- A user without the right to count, or to expire, must not hold permits that the counter
  -- ignores.
  if type(counted) == 'table' then
    redis.call('zrem', leases, unpack(ids))
    return counted
  end
  free = counted
end`;

/**
 * Enough left → held by this owner until the lease ends. If the permits are not set, a positive
 * `ofAll` becomes their number. A waiter for several permits leaves a mark. While it waits, other
 * callers leave enough permits for it. Otherwise it would never find enough.
 */
export const ACQUIRE = defineScript({
  name: 'semaphore.acquire',
  keys: ['counter', 'leases', 'waiting'],
  args: ['permits', 'leaseMs', 'markMs', 'channel', 'ofAll'],
  numbers: ['markMs', 'ofAll'],
  channels: ['channel'],
  body: `
${CHECK_LEASE}
${IDS}
${NOW}
${FREE}
local ends = ${NEXT_END}
${COUNT_MISSING}
local isNew = not free and ofAll > 0
if isNew then free = ofAll - redis.call('zcard', leases) end
if free and missing > free then
  local capacity = free + redis.call('zcard', leases)
  if #ids > capacity then
    return redis.error_reply(string.format('LOCKSTATE it has %.0f permits in all, and %.0f were requested at once', capacity, #ids))
  end
end
if isNew then redis.call('set', counter, string.format('%.0f', free)) end
${RECLAIM}
local me = string.sub(permits, 1, 32)
local mark = redis.call('get', waiting)
local isMine = mark and string.sub(mark, 1, 32) == me
local reserved = mark and not isMine and tonumber(string.sub(mark, 34)) or 0
if missing == 0 or free and free - missing >= reserved then
  if isMine then redis.call('del', waiting) end
  ${TAKE}
  if free and free > 0 and (isMine or isNew or expired > 0) then ${TELL_FREE} end
  return ${String(GRANTED)}
end
if markMs > 0 and #ids > 1 and (isMine or not mark) then
  -- Memory may be full: without its mark, the waiter still acquires by chance.
  redis.pcall('set', waiting, me .. ':' .. #ids, 'px', markMs)
end
if free and free > 0 and (isNew or expired > 0) then ${TELL_FREE} end
local left = -1
if ends and tonumber(ends) < ${NO_LEASE} then left = tonumber(ends) - now end
return {left, not free and ${String(REFUSED.unset)} or nil}`,
  reply: (raw) => (raw === UNFINISHED ? UNFINISHED : acquireAnswer(raw)),
});

/**
 * Held by this owner → free and announced. The set comes first: Redis allows ZREM when its memory
 * is full, and then also the counter.
 */
const leave = (forget: string, freed: string) => `
${IDS}
${FREE}
local removed = redis.call('zrem', leases, unpack(ids))
if removed > 0 and free then
  local counted = redis.pcall('incrby', counter, removed)
  -- A user without the right to count must not lose them. As expired ones, they are free for the
  -- next acquisition.
  if type(counted) == 'table' then
    local entries = {}
    for i = 1, removed do
      entries[2 * i - 1] = '1'
      entries[2 * i] = ids[i]
    end
    redis.call('zadd', leases, unpack(entries))
    return counted
  end
  free = counted
end
${forget}
local isTold = true
if free and free > 0 and (${freed}) then isTold = ${TELL_FREE} end
if removed < #ids then return 'absent' end
return isTold and 'done' or 'unannounced'`;

export const RELEASE = defineScript({
  name: 'semaphore.release',
  keys: ['counter', 'leases'],
  args: ['permits', 'channel'],
  channels: ['channel'],
  body: leave('', 'removed > 0'),
  reply: releaseAnswer,
});

/**
 * Frees what a caller may have received, and removes its mark. It wakes the waiters that the mark
 * kept out.
 */
export const CANCEL = defineScript({
  name: 'semaphore.cancel',
  keys: ['counter', 'leases', 'waiting'],
  args: ['permits', 'channel'],
  channels: ['channel'],
  body: leave(
    `
local mark = redis.call('get', waiting)
local isMine = mark and string.sub(mark, 1, 32) == string.sub(permits, 1, 32)
if isMine then redis.call('del', waiting) end`,
    'removed > 0 or isMine',
  ),
  reply: releaseAnswer,
});

/**
 * Renews the permits of each set if all are there, and creates nothing. Takes permits and a lease
 * for each set.
 */
export const RENEW = defineScript({
  name: 'semaphore.renew',
  keys: [],
  args: [],
  body: `
local function idsOf(permits)
  ${IDS}
  return ids
end
for i = 1, #KEYS do
  if not string.find(ARGV[2 * i], '^[1-9]%d*$') or #ARGV[2 * i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
  local ids = idsOf(ARGV[2 * i - 1])
  if ids.err then return ids end
end
${NOW}
local answers = {}
for i = 1, #KEYS do
  local leaseEnd = now + tonumber(ARGV[2 * i])
  -- An empty text is no permit, so this removes nothing: with its memory full, Redis allows ZADD
  -- only after another write.
  local writable = redis.pcall('zrem', KEYS[i], '')
  if type(writable) == 'table' and not string.find(writable.err, 'WRONGTYPE', 1, true) then
    return writable
  end
  local isHeld = type(writable) ~= 'table'
  local entries = {}
  for _, id in ipairs(idsOf(ARGV[2 * i - 1])) do
    local ends = isHeld and redis.call('zscore', KEYS[i], id)
    if not ends then
      isHeld = false
      break
    end
    -- Never shorter: an old renewal that arrives late must not undo a longer one.
    if tonumber(ends) < leaseEnd then
      entries[#entries + 1] = string.format('%.0f', leaseEnd)
      entries[#entries + 1] = id
    end
  end
  if isHeld and #entries > 0 then redis.call('zadd', KEYS[i], 'xx', unpack(entries)) end
  answers[i] = isHeld and 1 or 0
end
return answers`,
  reply: (raw) => (Array.isArray(raw) ? raw.map((answer) => answer === 1) : undefined),
});
