local lock = KEYS[1]
local owner = ARGV[1]
local leaseMs = ARGV[2]
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
local field, holdCount = owner .. ':write', 1
local held = mode == 'write' and redis.call('hget', lock, field)
if mode and not held then
  
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, mode == 'read' and ':%-?%d+$' or ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
  return {redis.call('pttl', lock)}
end

local left = mode and redis.call('pttl', lock) or 0
if not mode then
  redis.call('hset', lock, 'mode', 'write', field, holdCount)
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