local counter = KEYS[1]
local marker = KEYS[2]
local permits = ARGV[1]
local markerTtlMs = ARGV[2]
local channel = ARGV[3]
local ofAll = ARGV[4]
if not string.find(permits, '^%d+$') or #permits > 15 then return redis.error_reply('LOCKARG permits is not a whole number') end
permits = tonumber(permits)
if not string.find(markerTtlMs, '^%d+$') or #markerTtlMs > 15 then return redis.error_reply('LOCKARG markerTtlMs is not a whole number') end
markerTtlMs = tonumber(markerTtlMs)
if not string.find(ofAll, '^%d+$') or #ofAll > 15 then return redis.error_reply('LOCKARG ofAll is not a whole number') end
ofAll = tonumber(ofAll)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if permits == 0 then return redis.error_reply('LOCKARG permits must not be 0') end

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
if known then return known == 'cancelled' and 0 or 1 end

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
local isNew = not free and ofAll > 0
if isNew then
  redis.call('set', counter, ofAll)
  free = ofAll
end
if not free then return 4 end

local function tell(free)
  if free < 1 or free > 2147483647 then return 1 end
  return announce(channel, string.format('%d', free)) and 1 or 0
end
if free < permits then
  if isNew then tell(free) end
  return 0
end
local refused = once(permits, 'decrby', counter, permits)
if isNew and not refused then tell(free - permits) end
return refused or 1