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

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
local entries = {}
for i = 1, #ids do
  local ends = redis.call('zscore', leases, ids[i])
  if not ends or tonumber(ends) <= now then return {0, 1} end
  entries[2 * i - 1] = ends
  entries[2 * i] = ids[i]
end

local function tell()
  return (free < 1 or announce(channel, string.format('%.0f', math.min(free, 2147483647)))) and 1 or 0
end
-- ZREM comes first: Redis allows it when its memory is full, and then also the rest.
local removed = redis.call('zrem', leases, unpack(ids))
if not free then
  local refused = once(1)
  if refused then return refused end
  return {1, 1}
end
free = free + removed
local refused = once(1, 'incrby', counter, removed)
-- A user without the right to count must not lose them.
if refused then redis.call('zadd', leases, unpack(entries)) end
return refused or {1, tell()}