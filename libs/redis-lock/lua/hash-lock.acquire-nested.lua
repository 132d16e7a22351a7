local lock = KEYS[1]
local owner = ARGV[1]
local holdCount = ARGV[2]
local leaseMs = ARGV[3]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end

if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
local held = redis.call('hget', lock, owner)
if not held then return 0 end

if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
return 1