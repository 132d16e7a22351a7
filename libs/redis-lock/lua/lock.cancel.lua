local lock = KEYS[1]
local queue = KEYS[2]
local claims = KEYS[3]
local opened = KEYS[4]
local owner = ARGV[1]
local channel = ARGV[2]
local openEveryMs = ARGV[3]
if not string.find(openEveryMs, '^%d+$') or #openEveryMs > 15 then return redis.error_reply('LOCKARG openEveryMs is not a whole number') end
openEveryMs = tonumber(openEveryMs)
local countBy = 'numsub'
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local now
local function serverTime()
  if not now then
    local time = redis.call('time')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return now
end

local function processOf(one)
  return string.sub(one, 1, 36)
end
-- An entry that Redis cannot read counts as none.
local function removeProcess(process)
  redis.pcall('zrem', queue, process)
  redis.pcall('hdel', claims, process)
end

local function leaveQueue(one, hadIt)
  local process = processOf(one)
  local record = redis.pcall('hget', claims, process)
  local number = type(record) == 'string' and tonumber(string.match(record, '^%d+') or '')
  local own = tonumber(string.sub(one, 38))
  if number and own and (number == own or hadIt and number < own) then removeProcess(process) end
end
local held = redis.pcall('hget', lock, owner)
-- A key of another type belongs to another application now.
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if type(held) ~= 'string' then
  leaveQueue(owner)
  return 'absent'
end


-- A queue that Redis cannot read must not make a release fail.
local found = redis.pcall('exists', queue, opened)
local isAlone = type(found) == 'table' or found == 0

if isAlone then
  redis.call('del', lock)
  return announce(channel, '0') and 1 or 'unannounced'
end



local function give(one, count, ms)
  redis.call('hset', lock, one, count)
  local expiry = redis.pcall('pexpire', lock, ms)
  -- A user without the right to expire keys must not leave a lock that never expires.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return false
  end
  
  return true
end
-- The release is done by then: an error of the queue must not make it fail.
local function tried(step, ...)
  local isDone, answer = pcall(step, ...)
  return isDone and answer
end

local share = 0
if not isAlone and openEveryMs > 0 then
  local ears = countBy and redis.pcall('pubsub', countBy, channel, channel .. ':nodes')
  -- Valkey 9.1 answers hundreds of millions while it resizes its table of subscribers.
  local isTold = ears and not ears.err and math.max(ears[2], ears[4]) < 1000000
  share = isTold and math.max(0, ears[2] - ears[4]) / math.max(1, ears[4])
end
local leftMs = share ~= 0 and redis.pcall('pttl', lock)
local function tellShorter(ms)
  if type(leftMs) == 'number' and (leftMs < 0 or ms < leftMs) then announce(channel, '00') end
end

local shortestMs, longestMs = 20, 1000
local function window()
  local times = redis.pcall('get', opened)
  local pattern = '^(%d+) (%d+) (%d+) (%d+)$'
  local since, untilMs, endMs, unused = string.match(type(times) == 'string' and times or '', pattern)
  return tonumber(since), tonumber(untilMs), tonumber(endMs), tonumber(unused)
end
local function setWindow(since, untilMs, endMs, unused)
  local times = string.format('%.0f %.0f %.0f %.0f', since, untilMs, endMs, unused)
  redis.pcall('set', opened, times, 'px', 3000)
end
local function isOpen(endMs, nowMs)
  -- More is left only when the clock was set back.
  return endMs and endMs > nowMs and endMs - nowMs <= longestMs
end

-- The end of the window of outsiders, or nil if they are not due.
local function openUntil(since, nowMs, callers, unused)
  -- Later than that only when the clock was set back.
  local isSetBack = since > nowMs + longestMs
  local lastedMs = isSetBack and openEveryMs or math.max(1, nowMs - since)
  local part = (share or 0) * (callers >= 8 and 0.6666666666666666 or 1.5)
  -- Outsiders may leave one window unused by chance: they held the lock between two looks.
  part = part / 2 ^ math.max(0, unused - 1)
  if lastedMs * math.max(part, shortestMs / openEveryMs) < shortestMs then return end
  local dueMs = math.floor(math.min(lastedMs * part, longestMs))
  return nowMs + math.max(dueMs, shortestMs)
end
local function openWindow(since, callers)
  if share == 0 then return false end
  -- Rounded down: otherwise the window would last longer than shortestMs, which standingBack
  -- refuses.
  local nowMs = math.floor(serverTime() / 1000)
  local begun, untilMs, endMs, unused = window()
  unused = unused or 0
  if not isOpen(endMs, nowMs) or untilMs <= nowMs then
    if endMs and endMs > 0 then unused = unused + 1 end
    if not begun then
      since = since or tonumber(redis.pcall('zrange', queue, 0, 0, 'withscores')[2] or '')
    end
    local first = begun or since and math.floor(since / 1000)
    endMs = first and openUntil(first, nowMs, callers, unused)
    if first and not endMs and not begun then setWindow(first, 0, 0, 0) end
    if not endMs then return false end
  end
  local receivers = announce(channel, '0')
  local isHeard = receivers and receivers ~= 0
  untilMs = math.min(nowMs + shortestMs, endMs)
  setWindow(nowMs, isHeard and untilMs or 0, isHeard and endMs or 0, unused)
  return isHeard
end
local isUntold = false
local function grant(process, record)
  local number, aliveUntil, nonce, grantMs, mode = string.match(record, '^(%d+) (%d+) (%x+) ([1-9]%d*) ([sep])$')
  if not mode or tonumber(aliveUntil) * 1000 < serverTime() then return false end
  if not give(process .. ':' .. number, mode == 's' and '1' or '0', grantMs) then return false end
  -- The push follows the grant, so that it is always true. A process without a subscription is
  -- dead, or tries again when it is connected.
  local receivers = mode == 'p' or announce(queue .. ':' .. process, number .. ' ' .. nonce)
  if receivers ~= 0 then
    isUntold = not receivers
    tellShorter(tonumber(grantMs))
    return true
  end
  redis.call('del', lock)
  return false
end
local function handOver(from)
  for _ = 1, 32 do
    local process = redis.call('zpopmin', queue)[1]
    if not process then return false end
    local record = redis.call('hget', claims, process)
    redis.call('hdel', claims, process)
    if record and process ~= from and grant(process, record) then return true end
  end
  return false
end
-- DEL comes first: a user without the right to it changes nothing.
redis.call('del', lock)

leaveQueue(owner, true)
if tried(openWindow, nil, 0) then return 'opened' end
if tried(handOver) then return isUntold and 'unannounced' or 'done' end
return announce(channel, '0') and 1 or 'unannounced'