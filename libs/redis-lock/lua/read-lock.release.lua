local lock = KEYS[1]
local prefix = KEYS[2]
local owner = ARGV[1]
local holdCount = ARGV[2]
local channel = ARGV[3]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
-- More holds than any reader has: a corrupt count must not stop Redis.
local MOST_HOLDS = 10000
-- The rest of a reader's longest lease (ms), 0 if it is dead, and the hold that has it.
local function leaseOf(reader, count)
  local longest, at = 0, 0
  for i = 1, math.min(tonumber(count) or 0, MOST_HOLDS) do
    local left = redis.call('pttl', prefix .. reader .. ':rwlock_timeout:' .. i)
    if left >= 0 and math.max(1, left) > longest then longest, at = math.max(1, left), i end
  end
  return longest, at
end
-- The rest of the longest lease of all readers (ms), and the number of readers. Dead ones count,
-- and are removed. With enough, it stops at a lease of that length after atLeast readers.
local function longestLease(enough, atLeast)
  local longest, seen = 0, 0
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    if enough and longest >= enough and seen >= atLeast then break end
    if string.find(fields[i], ':%-?%d+$') then
      seen = seen + 1
      local left = leaseOf(fields[i], fields[i + 1])
      if left == 0 then redis.call('hdel', lock, fields[i]) end
      longest = math.max(longest, left)
    end
  end
  return longest, seen
end

local function shrink(reader, count, n)
  local key = prefix .. reader .. ':rwlock_timeout:'
  local longest, at = leaseOf(reader, count)
  -- RENAME keeps the TTL, and is allowed when the memory is full.
  if n > 0 and at > n then redis.call('rename', key .. at, key .. n) end
  for i = n + 1, math.min(tonumber(count) or 0, MOST_HOLDS) do redis.call('del', key .. i) end
  return longest
end

local function leave()
  local mode = redis.call('hget', lock, 'mode')
  local held = mode and redis.call('hget', lock, owner)
  if not held then return 'absent' end
  if holdCount > 0 then
    
if tonumber(held) > holdCount then
  shrink(owner, held, holdCount)
  local counted = redis.pcall('hset', lock, owner, holdCount)
  -- With its memory full Redis refuses also a smaller number: the next step sets it right.
  if type(counted) == 'table' and not string.find(counted.err, 'OOM', 1, true) then
    return counted
  end
end
return 'done'
  end
  local lease = shrink(owner, held, 0)
  local left = redis.pcall('hdel', lock, owner)
  -- A user without the right to leave still reads.
  if type(left) == 'table' then
    if lease > 0 then redis.call('set', prefix .. owner .. ':rwlock_timeout:1', '1', 'px', lease) end
    return left
  end
  -- The writer's own lease must not change.
  if mode == 'write' then return 'done' end
  -- The TTL of the lock is that of the longest lease. Only a reader with that lease leaves it too
  -- long, unless another lease is as long. A TTL that Java made shorter makes the script look at
  -- all leases.
  local ttl = redis.call('pttl', lock)
  local isLongest = lease + 10 >= ttl
  local enough = ttl + 10 >= lease and math.max(1, ttl - 10)
  local function look()
    return isLongest and longestLease(enough, 8) or longestLease(1, 1)
  end
  local mayLook, longest = pcall(look)
  -- The reader has left by now. For a user without the right to look, the lock is free when no
  -- field is left.
  if not mayLook then longest = 0 end
  if not mayLook and redis.call('hlen', lock) > 1 then return 'done' end
  if longest > 0 then
    if isLongest then
      local isRight = enough and longest >= enough and longest <= ttl
      -- Without that right the lock keeps writers out for longer.
      if not isRight then redis.pcall('pexpire', lock, longest) end
    end
    return 'done'
  end
  redis.call('del', lock)
  return announce(channel, '0') and 'done' or 'unannounced'
end
return leave()