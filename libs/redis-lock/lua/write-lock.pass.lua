local lock = KEYS[1]
local prefix = KEYS[2]
local writers = KEYS[3]
local writersTurn = KEYS[4]
local readers = KEYS[5]
local turn = KEYS[6]
local owner = ARGV[1]
local successor = ARGV[2]
local leaseMs = ARGV[3]
local starts = ARGV[4]
local channel = ARGV[5]
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local field = owner .. ':write'
local mode, held = unpack(redis.call('hmget', lock, 'mode', field))
held = mode == 'write' and held


if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
if starts ~= '0' and starts ~= '1' then
  return redis.error_reply('LOCKARG starts is neither 0 nor 1')
end
if not held then
  -- The successor may hold the lock already: Redis got this script twice, or another script passed
  -- the lock on. The time of that grant is unknown.
  return redis.call('hexists', lock, successor .. ':write') == 1 and 'had' or 'absent'
end
-- No other waiter wants the lock, and the writer does not read.
if redis.call('hlen', lock) == 2 and redis.call('exists', readers, writers, turn) == 0 then
  
-- The hash is never empty: a slot that is on its way to another node takes no deleted key back.
-- The lease comes first: with its memory full, Redis refuses only a first write.
redis.call('pexpire', lock, leaseMs)
local counted = redis.pcall('hset', lock, successor .. ':write', starts)
local left = redis.pcall('hdel', lock, owner .. ':write')
if type(counted) == 'table' or type(left) == 'table' then
  redis.call('del', lock)
  return 'unannounced'
end
return 'passed'
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

local function forget(writer)
  if redis.call('zrem', writers, writer) == 0 or isAwaited(writers) then return false end
  redis.call('del', writersTurn)
  return true
end
-- Releases the write hold. Answers the rest of the writer's longest read (ms), which outlasts the
-- write.
local function letGo(field)
  local longest = redis.call('hlen', lock) > 2 and longestLease() or 0
  if longest > 0 then
    -- The lease comes first: with its memory full, Redis refuses only a first write.
    redis.call('pexpire', lock, longest)
    redis.call('hset', lock, 'mode', 'read')
    redis.call('hdel', lock, field)
  else
    redis.call('del', lock)
  end
  return longest
end
-- Whether the released lock belongs to readers now.
local function isForReaders(longest)
  local waiting = redis.pcall('exists', readers, writers, turn)
  if waiting == 0 then return longest > 0 end
  -- The release is done by then: keys of another type must not make it fail.
  pcall(giveTurn)
  return longest > 0 or redis.pcall('exists', turn) == 1
end

local function give(one, count, ms)
  redis.call('hset', lock, 'mode', 'write', one .. ':write', count)
  local expiry = redis.pcall('pexpire', lock, ms)
  -- A user without the right to expire keys must not leave a lock that never expires.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return false
  end
  pcall(forget, one)
  return true
end
-- The release is done by then: an error of the queue must not make it fail.
local function tried(step, ...)
  local isDone, answer = pcall(step, ...)
  return isDone and answer
end

if isForReaders(letGo(field)) then
  
  return announceToAll() and 'yielded' or 'unannounced'
end
return tried(give, successor, starts, leaseMs) and 'passed' or 'unannounced'