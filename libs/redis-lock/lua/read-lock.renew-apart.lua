local lock = KEYS[1]
local owner = ARGV[1]
local leaseMs = ARGV[2]
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
local held = redis.pcall('hget', lock, owner)
if type(held) == 'table' then
  -- A key of another type has no such owner. A missing right to read says nothing.
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false
end
if not held then return 0 end
if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
return math.min(tonumber(held) or 0, 10000)