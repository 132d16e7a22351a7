local lock = KEYS[1]
local prefix = KEYS[2]
local writers = KEYS[3]
local writersTurn = KEYS[4]
local readers = KEYS[5]
local turn = KEYS[6]
local owner = ARGV[1]
local holdCount = ARGV[2]
local leaseMs = ARGV[3]
local companion = ARGV[4]
local memoryMs = ARGV[5]
local channel = ARGV[6]
if not string.find(holdCount, '^%d+$') or #holdCount > 15 then return redis.error_reply('LOCKARG holdCount is not a whole number') end
holdCount = tonumber(holdCount)
if not string.find(memoryMs, '^%d+$') or #memoryMs > 15 then return redis.error_reply('LOCKARG memoryMs is not a whole number') end
memoryMs = tonumber(memoryMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end

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

local function shrink(reader, count, n)
  local key = prefix .. reader .. ':rwlock_timeout:'
  local longest, at = leaseOf(reader, count)
  -- RENAME keeps the TTL, and is allowed when the memory is full.
  if n > 0 and at > n then redis.call('rename', key .. at, key .. n) end
  for i = n + 1, math.min(tonumber(count) or 0, MOST_HOLDS) do redis.call('del', key .. i) end
  return longest
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
local held = mode and redis.call('hget', lock, owner)
local left = mode and redis.call('pttl', lock) or 0
local isUnawaited = true
if not held then
  if holdCount > 1 then return 0 end
  isUnawaited = redis.call('exists', writers, readers, turn) == 0
  if mode == 'write' then
    if companion == '' or redis.call('hexists', lock, companion .. ':write') == 0 then
      
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, ':%-?%d+:write$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
      if memoryMs > 0 then
        remember(readers, owner, memoryMs)
        -- The readers' turn is due when the write ends, also by a crash.
        redis.call('del', writersTurn)
      end
      return {left}
    end
  else
    if left == -1 then
      
local isHeld = false
for _, field in ipairs(redis.call('hkeys', lock)) do
  isHeld = isHeld or string.find(field, ':%-?%d+$') ~= nil
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
    end
    if not isUnawaited and isAwaited(writers) and not redis.call('zscore', turn, owner) then
      if memoryMs > 0 then remember(readers, owner, memoryMs) end
      if not writersTurnLeft() then
        giveTurn()
        announceToAll()
      end
      if not redis.call('zscore', turn, owner) then
        return {writersTurnLeft() or 0}
      end
    end
  end
end
local key = prefix .. owner .. ':rwlock_timeout:'
if held and tonumber(held) > holdCount then shrink(owner, held, holdCount) end
if not held or redis.call('pttl', key .. holdCount) < tonumber(leaseMs) then
  redis.call('set', key .. holdCount, '1', 'px', leaseMs)
end
local stored
if not mode then
  stored = redis.pcall('hset', lock, 'mode', 'read', owner, holdCount)
elseif tonumber(held or 0) ~= holdCount then
  stored = redis.pcall('hset', lock, owner, holdCount)
end
if type(stored) == 'table' then
  if tonumber(held or 0) < holdCount then redis.call('del', key .. holdCount) end
  return stored
end
if left < tonumber(leaseMs) then
  local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  
    if tonumber(held or 0) < holdCount then redis.call('del', key .. holdCount) end
    if not mode then redis.call('del', lock)
    elseif not held then redis.call('hdel', lock, owner)
    elseif stored then redis.call('hset', lock, owner, held) end
  return expiry
end
end
-- The acquire is done by then: keys of another type must not make it fail.
if not isUnawaited then
  redis.pcall('zrem', readers, owner)
  redis.pcall('zrem', turn, owner)
end
return 1