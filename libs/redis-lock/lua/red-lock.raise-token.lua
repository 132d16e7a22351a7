local token = KEYS[1]
local fence = ARGV[1]
local tokenTtlMs = ARGV[2]
if not string.find(tokenTtlMs, '^%d+$') or #tokenTtlMs > 15 then return redis.error_reply('LOCKARG tokenTtlMs is not a whole number') end
tokenTtlMs = tonumber(tokenTtlMs)
if not string.find(fence, '^[1-9]%d*$') or #fence > 16 then
  return redis.error_reply('LOCKARG fence is not a token')
end
local known = redis.call('get', token)
if known and not string.find(known, '^%d+$') then
  return redis.error_reply('LOCKSTATE its fencing token is not a number')
end
if not known or tonumber(known) < tonumber(fence) then
  
if tokenTtlMs > 0 then
  redis.call('set', token, fence, 'px', tokenTtlMs)
else
  redis.call('set', token, fence)
end
end
return 1