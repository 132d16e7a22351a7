local lock = KEYS[1]
local token = KEYS[2]
local owner = ARGV[1]
local holdCount = ARGV[2]
local leaseMs = ARGV[3]
local tokenTtlMs = ARGV[4]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
if not string.find(tokenTtlMs, '^%d+$') or #tokenTtlMs > 15 then return redis.error_reply('LOCKARG tokenTtlMs is not a whole number') end
tokenTtlMs = tonumber(tokenTtlMs)
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end

if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
local held = redis.call('hget', lock, owner)
if not held then return 0 end

local fence = redis.call('get', token)
if tonumber(held) ~= holdCount or not fence then
  local time = redis.call('time')
  local counter = 0
  if fence then counter = string.find(fence, '^%d+$') and tonumber(fence) end
  if not counter then return redis.error_reply('LOCKSTATE its fencing token is not a number') end
  local next = math.max(counter + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
  if next > 9007199254740991 then return redis.error_reply('LOCKSTATE its fencing token is too large') end
  fence = string.format('%.0f', next)
  
if tokenTtlMs > 0 then
  redis.call('set', token, fence, 'px', tokenTtlMs)
else
  redis.call('set', token, fence)
end
end
if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
return fence