local lock = KEYS[1]
local owner = ARGV[1]
local keepMs = ARGV[2]
local channel = ARGV[3]
if not string.find(keepMs, '^%d+$') or #keepMs > 15 then return redis.error_reply('LOCKARG keepMs is not a whole number') end
keepMs = tonumber(keepMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if redis.call('hexists', lock, owner) == 0 then return 'absent' end
local left = redis.call('pttl', lock)
redis.call('pexpire', lock, keepMs)
-- A waiter that was refused sleeps until the end of the older lease.
if left <= keepMs then return 'done' end
return announce(channel, '0') and 'done' or 'unannounced'