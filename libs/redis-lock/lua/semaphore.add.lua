local counter = KEYS[1]
local leases = KEYS[2]
local marker = KEYS[3]
local permits = ARGV[1]
local markerTtlMs = ARGV[2]
local channel = ARGV[3]
if not string.find(markerTtlMs, '^%d+$') or #markerTtlMs > 15 then return redis.error_reply('LOCKARG markerTtlMs is not a whole number') end
markerTtlMs = tonumber(markerTtlMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not string.find(permits, '^%-?%d+$') or #permits > 15 then
  return redis.error_reply('LOCKARG permits is not a whole number')
end
permits = tonumber(permits)

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
free = (free or 0) + permits
if math.abs(free + redis.call('zcard', leases)) > 2147483647 then
  return redis.error_reply('LOCKSTATE it would have more permits than a Java service can count')
end

local function tell()
  return (free < 1 or announce(channel, string.format('%.0f', math.min(free, 2147483647)))) and 1 or 0
end
local refused = once(1, 'incrby', counter, string.format('%.0f', permits))
return refused or {1, permits > 0 and tell() or 1}