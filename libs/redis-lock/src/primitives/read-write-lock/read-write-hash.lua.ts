import { fragment } from '../lua/fragment.js';

/**
 * The read-write lock on the wire is Redisson's RReadWriteLock: a hash `name` with a TTL. Its
 * fields are `mode` (`read` or `write`), reader → hold count, and `<writer>:write` → hold count.
 * Each hold of a reader has a key `{name}:<reader>:rwlock_timeout:<n>`, which expires with its
 * lease. Wake-ups are announced on `redisson_rwlock:{name}`.
 */

/** `1` wakes all waiters of a lock, `0` the next one. */
export const FOR_ALL = '1';
export const FOR_NEXT = '0';

/**
 * Lua: `announceToAll()`. With `1` Redisson wakes only threads that already sleep. A thread may
 * have been refused just before, and be about to sleep. The `0` behind it keeps that thread awake.
 */
export const ANNOUNCE_TO_ALL = fragment('announce channel', 'announceToAll')`
local function announceToAll()
  local receivers = announce(channel, '${FOR_ALL}')
  if receivers and receivers ~= 0 then announce(channel, '${FOR_NEXT}') end
  return receivers
end`;

/** Lua patterns of the fields of holders. A writer's owner is the part before `:write`. */
export const READER = "':%-?%d+$'";
export const WRITER = "':%-?%d+:write$'";

/** Lua that sets `mode` to how the lock is held, or to nil when it is free. */
export const MODE = fragment('lock', 'mode')`
local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
end`;

/** A script neither waits for a hash without holders nor deletes it. */
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

/** Lua that answers for a free lock, and refuses a key of another type. */
export const BEGIN_INSPECTION = fragment('lock', 'isHeld mode')`
${MODE}
if not mode then return {0} end
${refuseUnheld()}`;

/**
 * The leases of readers. A reader is alive as long as one of its keys exists. Its field may outlast
 * it if its process crashed and other readers renewed the lock.
 */
export const READERS = fragment('prefix', 'MOST_HOLDS leaseOf')`
-- More holds than any reader has: a corrupt count must not stop Redis.
local MOST_HOLDS = 10000
-- The rest of a reader's longest lease (ms), 0 if it is dead, and the hold that has it.
local function leaseOf(reader, count)
  local longest, at = 0, 0
  for i = 1, math.min(tonumber(count) or 0, MOST_HOLDS) do
    local left = redis.call('pttl', prefix .. reader .. ':rwlock_timeout:' .. i)
    if left >= 0 and math.max(1, left) > longest then longest, at = math.max(1, left), i end
  end
  return longest, at
end`;

/** As `READERS`, for a script that checks all readers. */
export const LONGEST_LEASE = fragment('lock prefix', 'MOST_HOLDS leaseOf longestLease')`${READERS}
-- The rest of the longest lease of all readers (ms), and the number of readers. Dead ones count,
-- and are removed. With enough, it stops at a lease of that length after atLeast readers.
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

/** Lua: lowers a reader to `n` holds. The last of them gets the longest of its leases. */
export const SHRINK = fragment('MOST_HOLDS leaseOf prefix', 'shrink')`
local function shrink(reader, count, n)
  local key = prefix .. reader .. ':rwlock_timeout:'
  local longest, at = leaseOf(reader, count)
  -- RENAME keeps the TTL, and is allowed when the memory is full.
  if n > 0 and at > n then redis.call('rename', key .. at, key .. n) end
  for i = n + 1, math.min(tonumber(count) or 0, MOST_HOLDS) do redis.call('del', key .. i) end
  return longest
end`;
