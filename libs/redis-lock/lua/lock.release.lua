local lock = KEYS[1]
local queue = KEYS[2]
local claims = KEYS[3]
local opened = KEYS[4]
local owner = ARGV[1]
local channel = ARGV[2]
local due = ARGV[3]
if not string.find(due, '^%d+$') or #due > 15 then return redis.error_reply('LOCKARG due is not a whole number') end
due = tonumber(due)
local countBy = 'numsub'
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not redis.call('hget', lock, owner) then return 'absent' end


local reached
-- A queue that Redis cannot read must not make a release fail.
local found = redis.pcall('exists', queue, opened)
local isUnawaited = type(found) == 'table' or found == 0

if isUnawaited then
  redis.call('del', lock)
  reached = announce(channel, '0')
  if not reached or reached == 0 or due == 0 or not countBy then
    return reached and 1 or 'unannounced'
  end
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

local outsiders = 0
local function countOutsiders()
  local ears = countBy and redis.pcall('pubsub', countBy, channel, channel .. ':nodes')
  -- Valkey 9.1 answers hundreds of millions while it resizes its table of subscribers.
  local isTold = ears and not ears.err and math.max(ears[2], ears[4]) < 1000000
  outsiders = isTold and math.max(0, ears[2] - ears[4])
end
if not isUnawaited and due > 0 then countOutsiders() end
local leftMs = outsiders ~= 0 and redis.pcall('pttl', lock)
local function tellShorter(ms)
  if type(leftMs) == 'number' and (leftMs < 0 or ms < leftMs) then announce(channel, '00') end
end

local longestMs = 1000
local function window()
  local nowMs = math.floor(serverTime() / 1000)
  local written = redis.pcall('get', opened)
  local pattern = '^(%d+) (%-?%d+) (%d+)$'
  local untilMs, sections, unused = string.match(type(written) == 'string' and written or '', pattern)
  untilMs = tonumber(untilMs)
  -- More is left only when the clock was set back.
  if untilMs and (untilMs <= nowMs or untilMs - nowMs > longestMs) then untilMs = nil end
  return nowMs, untilMs, tonumber(sections), tonumber(unused)
end
local function setWindow(untilMs, sections, unused)
  local written = string.format('%.0f %.0f %.0f', untilMs, sections, unused)
  redis.pcall('set', opened, written, 'px', 3000)
end

local function openWindow()
  if outsiders == 0 then return false end
  local nowMs, untilMs, sections, unused = window()
  if untilMs and sections <= 0 then return false end
  if not unused and not outsiders then
    setWindow(nowMs + longestMs, 0, 6)
    return false
  end
  local owed = due + math.min(not untilMs and sections or 0, 0)
  if owed <= 0 then
    setWindow(nowMs, owed, 0)
    return false
  end
  reached = reached or announce(channel, '0')
  if not reached or reached == 0 then return false end
  -- A first attempt may have taken the lock within their window.
  if not untilMs then
    untilMs, sections, unused = nowMs + longestMs, owed, (unused or 0) + 1
  end
  setWindow(untilMs, sections, unused)
  return true
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
if not isUnawaited then redis.call('del', lock) end

if isUnawaited then
  countOutsiders()
  if outsiders == 0 then return 1 end
end
leaveQueue(owner, true)
if tried(openWindow) then return 'reserved' end
if tried(handOver) then return isUntold and 'unannounced' or 'done' end
return (reached or announce(channel, '0')) and 1 or 'unannounced'