local lock = KEYS[1]
local token = KEYS[2]
local owner = ARGV[1]
local leaseMs = ARGV[2]
local tokenTtlMs = ARGV[3]
if not string.find(tokenTtlMs, '^%d+$') or #tokenTtlMs > 15 then return redis.error_reply('LOCKARG tokenTtlMs is not a whole number') end
tokenTtlMs = tonumber(tokenTtlMs)
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

local fence = redis.call('get', token)
if held ~= '1' or not fence then
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
return fence