local counter = KEYS[1]
local marker = KEYS[2]
local markerTtlMs = ARGV[1]
if not string.find(markerTtlMs, '^%d+$') or #markerTtlMs > 15 then return redis.error_reply('LOCKARG markerTtlMs is not a whole number') end
markerTtlMs = tonumber(markerTtlMs)
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
if not free or free == 0 then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
return once(free, 'decrby', counter, free) or {free, 1}