local lease = KEYS[1]
local leaseMs = ARGV[1]
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
local left = redis.call('pttl', lease)
if left < 0 then return 0 end
if left < tonumber(leaseMs) then redis.call('pexpire', lease, leaseMs) end
return 1