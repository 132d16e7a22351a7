local token = KEYS[1]
local tokenTtlMs = ARGV[1]
if not string.find(tokenTtlMs, '^%d+$') or #tokenTtlMs > 15 then return redis.error_reply('LOCKARG tokenTtlMs is not a whole number') end
tokenTtlMs = tonumber(tokenTtlMs)
local fence = redis.call('get', token)
if true or not fence then
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
return fence