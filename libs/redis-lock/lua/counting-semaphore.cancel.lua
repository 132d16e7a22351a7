local counter = KEYS[1]
local marker = KEYS[2]
local markerTtlMs = ARGV[1]
local channel = ARGV[2]
if not string.find(markerTtlMs, '^%d+$') or #markerTtlMs > 15 then return redis.error_reply('LOCKARG markerTtlMs is not a whole number') end
markerTtlMs = tonumber(markerTtlMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local known = redis.call('get', marker)
local function once(note, ...)
  local noted = redis.pcall('set', marker, note, 'px', markerTtlMs)
  if noted.err then return noted end
  if select('#', ...) == 0 then return nil end
  local changed = redis.pcall(...)
  if type(changed) ~= 'table' or not changed.err then return nil end
  -- A note of a failed step would count as its answer.
  if known then redis.call('set', marker, known, 'px', markerTtlMs) else redis.call('del', marker) end
  return changed
end
if known == 'cancelled' then return {0, 1} end

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
-- A counter that was deleted, or expired by its TTL, is not increased.
if not known or not free then
  local refused = once('cancelled')
  if refused then return refused end
  return {0, 1}
end

local function tell(free)
  if free < 1 or free > 2147483647 then return 1 end
  return announce(channel, string.format('%d', free)) and 1 or 0
end
local taken = tonumber(known)
return once('cancelled', 'incrby', counter, taken) or {taken, tell(free + taken)}