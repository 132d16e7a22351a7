local lock = KEYS[1]
local owner = ARGV[1]
local holdCount = ARGV[2]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end
local held = redis.call('hget', lock, owner)
if not held then return 'absent' end

if tonumber(held) > holdCount then
  
  local counted = redis.pcall('hset', lock, owner, holdCount)
  -- With its memory full Redis refuses also a smaller number: the next step sets it right.
  if type(counted) == 'table' and not string.find(counted.err, 'OOM', 1, true) then
    return counted
  end
end
return 'done'