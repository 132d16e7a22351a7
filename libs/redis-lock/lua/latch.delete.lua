local latch = KEYS[1]
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
if known then return {tonumber(known), 1} end

local left = redis.call('get', latch)
if left then
  local isWhole = left == '0' or string.find(left, '^%-?[1-9]%d*$')
  if not isWhole or #left > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  left = tonumber(left)
end
if not left then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
local refused = once(1, 'del', latch)
if refused then return refused end
return {1, announce(channel, '0') and 1 or 0}