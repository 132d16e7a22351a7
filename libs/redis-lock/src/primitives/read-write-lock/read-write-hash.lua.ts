import { remainingOf } from '../../core/lua/answers.js';
import type { Inspection } from '../../core/holding/protocol.js';
import type { RawReply } from '../../core/redis/script.js';

/**
 * The read-write lock on the wire is Redisson's RReadWriteLock: a hash `name` with the field `mode`
 * (`read` or `write`), reader → hold count and `<writer>:write` → hold count, and a TTL. Each hold of
 * a reader has a key of its own, `{name}:<reader>:rwlock_timeout:<n>`, that lives as long as its
 * lease. Whatever may let others in is announced on `redisson_rwlock:{name}`.
 */

/** Makes all who wait for a lock try again; `0` is for the one that is next. */
export const FOR_ALL = '1';
export const FOR_NEXT = '0';

/**
 * Lua: `announceToAll()`. By `1` Redisson wakes only the threads that sleep already: the `0` behind it
 * keeps one awake that was refused just before, and is about to sleep.
 */
export const ANNOUNCE_TO_ALL = `
local function announceToAll()
  local receivers = announce(channel, '${FOR_ALL}')
  if receivers and receivers ~= 0 then announce(channel, '${FOR_NEXT}') end
  return receivers
end`;

/** Lua patterns of the fields that somebody holds the lock by; `<owner>` is what is before `:write`. */
export const READER = "':%-?%d+$'";
export const WRITER = "':%-?%d+:write$'";

/** Leaves in `mode` what the lock is held for, or nil when it is free. */
export const MODE = `
local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
end`;

/** A hash in which nobody holds anything is neither ours to wait for nor to delete. */
export function refuseUnheld(holder = `mode == 'read' and ${READER} or ${WRITER}`): string {
  return `
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, ${holder}) ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end`;
}

/** Lua that answers for a lock that is free, and refuses what is no lock. */
export const BEGIN_INSPECTION = `
${MODE}
if not mode then return {0} end
${refuseUnheld()}`;

/**
 * The leases of readers. A reader lives as long as one of its keys; its field in the hash may outlast
 * it, when the process crashed while others went on reading.
 */
export const READERS = `
-- More holds than any reader has: a corrupt count must not stop Redis.
local MOST_HOLDS = 10000
-- What is left of a reader's longest lease, 0 if it is dead, and which of its holds has it.
local function leaseOf(reader, count)
  local longest, at = 0, 0
  for i = 1, math.min(tonumber(count) or 0, MOST_HOLDS) do
    local left = redis.call('pttl', prefix .. reader .. ':rwlock_timeout:' .. i)
    if left >= 0 and math.max(1, left) > longest then longest, at = math.max(1, left), i end
  end
  return longest, at
end`;

/** As `READERS`, for a script that looks at all of them. */
export const LONGEST_LEASE = `${READERS}
-- What is left of the longest lease of all readers, and how many there were, the dead included, which
-- it forgets. With a lease that is enough, it stops as soon as one has that much and so many were seen.
local function longestLease(enough, atLeast)
  local longest, seen = 0, 0
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    if enough and longest >= enough and seen >= atLeast then break end
    if string.find(fields[i], ${READER}) then
      seen = seen + 1
      local left = leaseOf(fields[i], fields[i + 1])
      if left == 0 then redis.call('hdel', lock, fields[i]) end
      longest = math.max(longest, left)
    end
  end
  return longest, seen
end`;

/** Brings a reader down to `n` holds. What it was promised by any of them, the last one keeps. */
export const SHRINK = `
local function shrink(reader, count, n)
  local key = prefix .. reader .. ':rwlock_timeout:'
  local longest, at = leaseOf(reader, count)
  -- RENAME keeps the TTL, and is allowed when the memory is full.
  if n > 0 and at > n then redis.call('rename', key .. at, key .. n) end
  for i = n + 1, math.min(tonumber(count) or 0, MOST_HOLDS) do redis.call('del', key .. i) end
  return longest
end`;

export function inspection(raw: RawReply): Inspection | undefined {
  if (typeof raw === 'string' || typeof raw === 'number') return undefined;
  const [pttl, ...owners] = raw;
  if (typeof pttl !== 'number') return undefined;
  return { remainingMs: remainingOf(pttl), owners: owners.map(String) };
}
