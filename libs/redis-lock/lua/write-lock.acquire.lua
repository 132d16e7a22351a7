local lock = KEYS[1]
local prefix = KEYS[2]
local writers = KEYS[3]
local writersTurn = KEYS[4]
local readers = KEYS[5]
local turn = KEYS[6]
local owner = ARGV[1]
local leaseMs = ARGV[2]
local memoryMs = ARGV[3]
local channel = ARGV[4]
if not string.find(memoryMs, '^%d+$') or #memoryMs > 15 then return redis.error_reply('LOCKARG memoryMs is not a whole number') end
memoryMs = tonumber(memoryMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end

local mode = redis.call('hget', lock, 'mode')
if mode ~= 'read' and mode ~= 'write' then
  if mode or redis.call('exists', lock) == 1 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  mode = nil
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

local function announceToAll()
  local receivers = announce(channel, '1')
  if receivers and receivers ~= 0 then announce(channel, '0') end
  return receivers
end

local now
local function serverTime()
  if not now then
    local time = redis.call('time')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return now
end

local function nowMs()
  return math.floor(serverTime() / 1000)
end
-- Whether the set has a waiter.
local function isAwaited(waiting)
  if redis.call('exists', waiting) == 0 then return false end
  redis.call('zremrangebyscore', waiting, '-inf', nowMs())
  return redis.call('exists', waiting) == 1
end

local function giveTurn()
  if redis.call('exists', readers, writers) == 0 then return end
  if isAwaited(readers) then
    redis.call('rename', readers, turn)
    redis.call('pexpire', turn, 1000)
  end
  if redis.call('exists', writers) == 1 then
    redis.pcall('set', writersTurn, '1', 'px', 5000)
  end
end

-- More is left only when the clock was set back: that must not prolong a wait.
local function leftOf(key, mostMs)
  local left = redis.call('pttl', key)
  return left > 0 and left <= mostMs and left
end
local function writersTurnLeft()
  return leftOf(writersTurn, 5000)
end

local function turnLeft()
  return leftOf(turn, 1000)
end

local function remember(waiting, waiter, memoryMs)
  -- With its memory full Redis remembers no waiter: there is no order then, but the lock works.
  local added = redis.pcall('zadd', waiting, nowMs() + memoryMs, waiter)
  if type(added) == 'table' then return end
  local answer = redis.pcall('pttl', waiting)
  if type(answer) ~= 'table' and answer < memoryMs then
    answer = redis.pcall('pexpire', waiting, memoryMs)
  end
  -- A user without the right to expire keys must not leave a set that never expires.
  if type(answer) == 'table' then redis.pcall('zrem', waiting, waiter) end
end
local function waitToWrite(writer)
  local isFirst = not isAwaited(writers)
  remember(writers, writer, memoryMs)
  if isFirst then redis.pcall('set', writersTurn, '1', 'px', 5000) end
end

local function forget(writer)
  if redis.call('zrem', writers, writer) == 0 or isAwaited(writers) then return false end
  redis.call('del', writersTurn)
  return true
end

local field = owner .. ':write'
local held = mode == 'write' and redis.call('hget', lock, field)
if not held then
  
local left
if mode == 'write' then
  
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
  left = redis.call('pttl', lock)
elseif mode == 'read' then
  local longest, seen = longestLease()
  if seen == 0 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  if longest > 0 then left = longest else redis.call('del', lock) end
end
if not left and redis.call('exists', turn, readers) > 0 then
  if not turnLeft() and not writersTurnLeft() then
    giveTurn()
    announceToAll()
  end
  left = turnLeft()
end

if left then
  if memoryMs > 0 then waitToWrite(owner) end
  
  return {left}
end
end

if not held then
  redis.call('hset', lock, 'mode', 'write', field, '1')
  local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  redis.call('del', lock)
  return expiry
end
  -- The acquire is done by then: a key of another type must not make it fail.
  pcall(forget, owner)
  
else
  -- HSET comes last: with its memory full, Redis refuses it unless another write came first.
  if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  if held ~= '1' then redis.call('hset', lock, field, '1') end
end

return 1