local lock = KEYS[1]
local queue = KEYS[2]
local claims = KEYS[3]
local opened = KEYS[4]
local token = KEYS[5]
local owner = ARGV[1]
local leaseMs = ARGV[2]
local claim = ARGV[3]
local tokenTtlMs = ARGV[4]
if not string.find(tokenTtlMs, '^%d+$') or #tokenTtlMs > 15 then return redis.error_reply('LOCKARG tokenTtlMs is not a whole number') end
tokenTtlMs = tonumber(tokenTtlMs)
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end

local aliveMs, past, ended, terms, grantMs = string.match(claim, '^([1-9]%d*) (%d+) (%d+) (%x+ ([1-9]%d*) [sep])$')
if not terms or #aliveMs > 15 or #past > 15 or #ended > 15 or #grantMs > 15 then
  return redis.error_reply('LOCKARG claim is none')
end
aliveMs, past, ended = tonumber(aliveMs), tonumber(past), tonumber(ended)

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

local function joinQueue(one)
  local process = processOf(one)
  -- With its memory full Redis keeps no entry: there is no order then, but the lock works.
  -- LT: after the clock was set back, no process waits behind all that come later.
  local added = redis.pcall('zadd', queue, 'lt', string.format('%.0f', serverTime()), process)
  if type(added) == 'table' then return end
  local aliveUntil = string.format(' %.0f ', serverTime() / 1000 + aliveMs)
  redis.pcall('hset', claims, process, string.sub(one, 38) .. aliveUntil .. terms)
  for _, key in ipairs({ queue, claims }) do
    local answer = redis.pcall('pttl', key)
    if type(answer) ~= 'table' and answer < aliveMs then
      answer = redis.pcall('pexpire', key, aliveMs)
    end
    -- A user without the right to expire keys must not leave a queue that never expires.
    if type(answer) == 'table' then removeProcess(process) end
  end
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
local shortestMs = 20
local function standingBack(isHeld)
  local _, untilMs, sections, unused = window()
  if not untilMs or sections <= 0 then return end
  if isHeld and unused > 0 then setWindow(untilMs, sections, 0) end
  if isHeld or past ~= untilMs then return untilMs, sections end
end
local function takeBack()
  local nowMs, untilMs, sections, unused = window()
  if not untilMs or sections <= 0 then return end
  if unused == 0 or ended > 0 then
    -- They often win the race for the lock at the end of their window, too.
    setWindow(nowMs, math.max(sections - ended, -64), 0)
  else
    setWindow(nowMs + math.min(shortestMs * 2 ^ unused, longestMs), 0, unused)
  end
end

local left = redis.call('pttl', lock)
local held
if left == -2 then left = nil else held = redis.call('hget', lock, owner) end
if not held then
  if left then
    
local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')

if not (isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end
  end
  local untilMs, sections = standingBack(left)
  if left or untilMs then
    joinQueue(owner)
    return {left or shortestMs, untilMs and 3, untilMs, sections}
  end
end

local fence = redis.call('get', token)
if not held or held == '0' or not fence then
  local time = redis.call('time')
  local counter = 0
  if fence then counter = string.find(fence, '^%d+$') and tonumber(fence) end
  if not counter then return redis.error_reply('LOCKSTATE its fencing token is not a number') end
  local next = math.max(counter + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
  if next > 9007199254740991 then return redis.error_reply('LOCKSTATE its fencing token is too large') end
  fence = string.format('%.0f', next)
  
if tokenTtlMs > 0 then
  redis.call('set', token, fence, 'px', tokenTtlMs)
else
  redis.call('set', token, fence)
end
end
if not held then
  
redis.call('hset', lock, owner, '1')
local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  redis.call('del', lock)
  return expiry
end
  takeBack()
else
  -- HSET comes last: with its memory full, Redis refuses it unless another write came first.
  if left < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  if held == '0' then redis.call('hset', lock, owner, '1') end
end
removeProcess(processOf(owner))
return fence