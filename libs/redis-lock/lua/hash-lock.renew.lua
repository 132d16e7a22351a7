local count = #KEYS
for i = count + 1, math.max(#ARGV, count + 1) do
  if not string.find(ARGV[i] or '', '^[1-9]%d*$') or #ARGV[i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
end
local answers = {}
for i = 1, count do
  local leaseMs = ARGV[count + i] or ARGV[count + 1]
  local held = redis.pcall('hexists', KEYS[i], ARGV[i])
  if type(held) == 'table' then
  -- A key of another type has no such owner. A missing right to read says nothing.
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = 0
end
  -- Never shorter: an old renewal that arrives late must not undo a longer one.
  if held == 1 and redis.call('pttl', KEYS[i]) < tonumber(leaseMs) then
    redis.call('pexpire', KEYS[i], leaseMs)
  end
  answers[i] = held
end
return answers