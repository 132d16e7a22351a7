local counter = KEYS[1]
local leases = KEYS[2]
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
local used = redis.call('zcard', leases)
local expired = redis.call('zcount', leases, '-inf', string.format('%.0f', now))
if not free then return {0, used - expired, 0} end
return {free + expired, used - expired, free + used}