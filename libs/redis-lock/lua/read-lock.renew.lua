for i = 2, #KEYS, 2 do
  if not string.find(ARGV[i], '^[1-9]%d*$') or #ARGV[i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
end
local answers = {}
for i = 1, #KEYS, 2 do
  local lock, owner, leaseMs = KEYS[i], ARGV[i], tonumber(ARGV[i + 1])
  local key = KEYS[i + 1] .. owner .. ':rwlock_timeout:'
  local held = redis.pcall('hget', lock, owner)
  if type(held) == 'table' then
  -- A key of another type has no such owner. A missing right to read says nothing.
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = false
end
  local isAlive = 0
  for n = 1, math.min(tonumber(held) or 0, 10000) do
    local left = redis.call('pttl', key .. n)
    if left >= 0 then
      isAlive = 1
      if left < leaseMs then redis.call('pexpire', key .. n, leaseMs) end
    end
  end
  -- Never shorter: another reader's lease, or the writer's, may be the longer one.
  if isAlive == 1 and redis.call('pttl', lock) < leaseMs then
    redis.call('pexpire', lock, leaseMs)
  end
  answers[(i + 1) / 2] = isAlive
end
return answers