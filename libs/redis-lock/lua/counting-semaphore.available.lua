local counter = KEYS[1]
local free = redis.call('get', counter)
if free then
  local isWhole = free == '0' or string.find(free, '^%-?[1-9]%d*$')
  if not isWhole or #free > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  free = tonumber(free)
end
return free or 0