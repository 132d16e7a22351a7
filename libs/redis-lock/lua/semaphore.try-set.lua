local counter = KEYS[1]
local leases = KEYS[2]
local marker = KEYS[3]
local permits = ARGV[1]
local markerTtlMs = ARGV[2]
local channel = ARGV[3]
if not string.find(permits, '^%d+$') or #permits > 15 then return redis.error_reply('LOCKARG permits is not a whole number') end
permits = tonumber(permits)
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
if known then return {1, 1} end

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
if free then return {0, 1} end
free = permits - redis.call('zcard', leases)

local function tell()
  return (free < 1 or announce(channel, string.format('%.0f', math.min(free, 2147483647)))) and 1 or 0
end
return once(1, 'set', counter, string.format('%.0f', free)) or {1, tell()}