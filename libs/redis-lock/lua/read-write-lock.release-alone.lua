local lock = KEYS[1]
local field = ARGV[1]
local holdCount = ARGV[2]
local channel = ARGV[3]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local function announceToAll()
  local receivers = announce(channel, '1')
  if receivers and receivers ~= 0 then announce(channel, '0') end
  return receivers
end
local held = redis.call('hget', lock, field)
if not held then return {'absent', 0} end
if holdCount > 0 then return {'done', 0} end
local leases = math.min(tonumber(held) or 0, 10000)
local isWriter = string.find(field, ':%-?%d+:write$')
if redis.call('hlen', lock) > 2 then
  redis.call('hdel', lock, field)
  if not isWriter then return {'done', leases} end
  redis.call('hset', lock, 'mode', 'read')
else
  redis.call('del', lock)
end
local isTold
if isWriter then isTold = announceToAll() else isTold = announce(channel, '0') end
return {isTold and 'done' or 'unannounced', leases}