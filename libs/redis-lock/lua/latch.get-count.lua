local latch = KEYS[1]
local left = redis.call('get', latch)
if left then
  local isWhole = left == '0' or string.find(left, '^%-?[1-9]%d*$')
  if not isWhole or #left > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  left = tonumber(left)
end
return math.max(0, left or 0)