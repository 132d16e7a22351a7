local lock = KEYS[1]
local owner = ARGV[1]
local channel = ARGV[2]
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not redis.call('hget', lock, owner) then return 'absent' end
redis.call('del', lock)
return announce(channel, '0') and 1 or 'unannounced'