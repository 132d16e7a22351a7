local lock = KEYS[1]
local owner = ARGV[1]
local successor = ARGV[2]
local leaseMs = ARGV[3]
local starts = ARGV[4]
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
if starts ~= '0' and starts ~= '1' then
  return redis.error_reply('LOCKARG starts is neither 0 nor 1')
end
if not redis.call('hget', lock, owner) then
  -- The successor may hold the lock already: Redis got this script twice, or another script passed
  -- the lock on. The time of that grant is unknown.
  return redis.call('hexists', lock, successor) == 1 and 'had' or 'absent'
end

-- The hash is never empty: a slot that is on its way to another node takes no deleted key back.
-- The lease comes first: with its memory full, Redis refuses only a first write.
redis.call('pexpire', lock, leaseMs)
local counted = redis.pcall('hset', lock, successor, starts)
local left = redis.pcall('hdel', lock, owner)
if type(counted) == 'table' or type(left) == 'table' then
  redis.call('del', lock)
  return 'unannounced'
end
return 'passed'