local lock = KEYS[1]
local owner = ARGV[1]
local leaseMs = ARGV[2]
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end

local left = redis.call('pttl', lock)
local held
if left == -2 then left = nil else held = redis.call('hget', lock, owner) end
if left and not held then
  
local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')

if not (isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end
  return {left}
end

if not held then
  
redis.call('hset', lock, owner, '1')
local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  redis.call('del', lock)
  return expiry
end
else
  if held ~= '1' then redis.call('hset', lock, owner, '1') end
  if left < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
end
return 1