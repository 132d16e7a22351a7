local counter = KEYS[1]
local leases = KEYS[2]
local marker = KEYS[3]
local permits = ARGV[1]
local markerTtlMs = ARGV[2]
local channel = ARGV[3]
local capacity = ARGV[4]
if not string.find(markerTtlMs, '^%d+$') or #markerTtlMs > 15 then return redis.error_reply('LOCKARG markerTtlMs is not a whole number') end
markerTtlMs = tonumber(markerTtlMs)
if not string.find(capacity, '^%d+$') or #capacity > 15 then return redis.error_reply('LOCKARG capacity is not a whole number') end
capacity = tonumber(capacity)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local ids = {}
for id in string.gmatch(permits, '[^,]+') do
  if #id ~= 32 or string.find(id, '%X') then
    return redis.error_reply('LOCKARG a permit id has 32 hexadecimal digits')
  end
  ids[#ids + 1] = string.gsub(id, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
end
if #ids == 0 then return redis.error_reply('LOCKARG there is no permit id') end

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
local missing = 0
for i = 1, #ids do
  if not redis.call('zscore', leases, ids[i]) then missing = missing + 1 end
end
missing = math.min(missing, capacity - (free or capacity) - redis.call('zcard', leases))
if missing < 1 then return {0, 1} end
free = free + missing

local function tell()
  return (free < 1 or announce(channel, string.format('%.0f', math.min(free, 2147483647)))) and 1 or 0
end
return once(1, 'incrby', counter, string.format('%.0f', missing)) or {1, tell()}