local lock = KEYS[1]
local owner = ARGV[1]
local holdCount = ARGV[2]
local leaseMs = ARGV[3]
local companion = ARGV[4]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end

if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end

local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
end
local field = owner
local held = mode and redis.call('hget', lock, field)
if not held then
  if holdCount > 1 then return 0 end
  local isOurs = companion ~= '' and redis.call('hexists', lock, companion .. ':write') == 1
  if mode == 'write' and not isOurs then
    
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
    return {redis.call('pttl', lock)}
  end
end

local left = mode and redis.call('pttl', lock) or 0
if not mode then
  redis.call('hset', lock, 'mode', 'read', field, holdCount)
elseif not held or tonumber(held) < holdCount then
  redis.call('hset', lock, field, holdCount)
end
if left < tonumber(leaseMs) then
  local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  if not mode then redis.call('del', lock) elseif not held then redis.call('hdel', lock, field) end
  return expiry
end
end
return 1