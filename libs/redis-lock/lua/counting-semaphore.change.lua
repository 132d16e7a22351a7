local counter = KEYS[1]
local marker = KEYS[2]
local more = ARGV[1]
local fewer = ARGV[2]
local onlyIfExists = ARGV[3]
local markerTtlMs = ARGV[4]
local channel = ARGV[5]
if not string.find(more, '^%d+$') or #more > 15 then return redis.error_reply('LOCKARG more is not a whole number') end
more = tonumber(more)
if not string.find(fewer, '^%d+$') or #fewer > 15 then return redis.error_reply('LOCKARG fewer is not a whole number') end
fewer = tonumber(fewer)
if not string.find(onlyIfExists, '^%d+$') or #onlyIfExists > 15 then return redis.error_reply('LOCKARG onlyIfExists is not a whole number') end
onlyIfExists = tonumber(onlyIfExists)
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
if known then return {tonumber(known), 1} end

local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
if not free and onlyIfExists == 1 then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
local changed = (free or 0) + more - fewer
if math.abs(changed) > 2147483647 then
  return redis.error_reply('LOCKSTATE it would count beyond 2147483647 permits')
end

local function tell(free)
  if free < 1 or free > 2147483647 then return 1 end
  return announce(channel, string.format('%d', free)) and 1 or 0
end
local refused = once(1, 'incrby', counter, more - fewer)
return refused or {1, more > fewer and tell(changed) or 1}