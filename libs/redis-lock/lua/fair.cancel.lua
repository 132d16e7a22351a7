local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local waiting = KEYS[4]
local owner = ARGV[1]
local waitMs = ARGV[2]
local channelPrefix = ARGV[3]
if not string.find(waitMs, '^%d+$') or #waitMs > 15 then return redis.error_reply('LOCKARG waitMs is not a whole number') end
waitMs = tonumber(waitMs)
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
local leftMs = redis.call('pttl', lock)

local time = redis.call('time')
local sinceUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(sinceUs / 1000)
local ahead

local function processOf(one)
  return string.match(one, '^[^:]*')
end

local function readAhead(written)
  ahead = written and tonumber(string.match(written, '^%d+$') or '0') or 0
  return ahead
end

local function scoreOf(waiter)
  local score = waiter and redis.call('zscore', timeouts, waiter)
  return score and tonumber(score) - (ahead or readAhead(redis.call('hget', waiting, 'ahead')))
end

local function setScore(waiter, score)
  redis.call('zadd', timeouts, score + (ahead or readAhead(redis.call('hget', waiting, 'ahead'))), waiter)
end

-- Answers besides what is known of its process, also of one that has no record.
local function recordOf(waiter)
  local own, process, scores = unpack(redis.call('hmget', waiting, waiter, processOf(waiter), 'ahead'))
  if not ahead then readAhead(scores) end
  if not process then return nil end
  local aliveUntil, waiters, askedAt = string.match(process or '', '^(%d+) (%d+) (%d+)$')
  local life = waiters and { aliveUntil = tonumber(aliveUntil), waiters = tonumber(waiters), askedAt = askedAt }
  local waitMs, owedMs, since, terms = string.match(own or '', '^(%d+)%+?(%d*) (%d+) ?(.*)$')
  if not life or not since or (terms ~= '' and not string.find(terms, '^(%x+) ([1-9]%d*) ([se])$')) then return nil, life end
  return {
    life = life,
    waitMs = tonumber(waitMs),
    owedMs = tonumber(owedMs) or 0,
    since = tonumber(since),
    terms = terms,
  }, life
end

local function written(record)
  local owed = record.owedMs > 0 and string.format('+%.0f', record.owedMs) or ''
  local text = string.format('%.0f%s %.0f', record.waitMs, owed, record.since)
  return record.terms == '' and text or text .. ' ' .. record.terms
end

-- The last waiter of a process takes along what is known of that.
local function forget(waiter, record)
  if record and record.life.waiters <= 1 then
    redis.call('hdel', waiting, waiter, processOf(waiter))
  elseif redis.call('hdel', waiting, waiter) == 1 and record then
    local life = record.life
    local text = string.format('%.0f %.0f %s', life.aliveUntil, life.waiters - 1, life.askedAt)
    redis.call('hset', waiting, processOf(waiter), text)
  end
end

local function leaseLeft()
  return math.max(0, redis.call('pttl', lock))
end

-- No score is ever made here: such a waiter would never be let in.
local function shiftEach(waiters, ms)
  for _, waiter in ipairs(waiters) do
    redis.call('zadd', timeouts, 'xx', 'incr', ms, waiter)
  end
end

-- Makes all scores what they should be, less or more by so much.
local function settle(ms)
  if ahead > 0 then redis.call('hdel', waiting, 'ahead') end
  local by = ms - ahead
  ahead = 0
  if by ~= 0 then shiftEach(redis.call('lrange', queue, 0, -1), by) end
end

-- For everybody. Behind a waiter of ours, nobody goes by the scores of many: it is noted, and made so
-- before a Java thread is next, whom a score that is too high would leave there when it is dead.
local function shiftAll(ms)
  if not ahead then readAhead(redis.call('hget', waiting, 'ahead')) end
  local isFew = redis.call('llen', queue) <= 8
  if isFew or ahead < ms or not recordOf(redis.call('lindex', queue, 0)) then return settle(ms) end
  ahead = ahead - ms
  redis.call('hset', waiting, 'ahead', string.format('%.0f', ahead))
end

-- For everybody from this place on. Of many, the one before them takes it along when it leaves.
local function shiftBehind(place, ms)
  local areMany = ms < 0 and redis.call('llen', queue) - place > 8
  local before = areMany and redis.call('lindex', queue, place - 1)
  local record = before and recordOf(before)
  if not record then return shiftEach(redis.call('lrange', queue, place, -1), ms) end
  record.owedMs = record.owedMs - ms
  redis.call('hset', waiting, before, written(record))
end

-- Of one without a record, waitMs is what it has added.
local function remove(waiter, place, from, record, waitMs)
  local ms = record and record.waitMs + record.owedMs or waitMs
  local hadScore = redis.call('zrem', timeouts, waiter) == 1
  forget(waiter, record)
  if place == 0 then redis.call('lpop', queue) else redis.call('lrem', queue, from, waiter) end
  if not hadScore then return end
  if place == 0 then shiftAll(-ms) else shiftBehind(place, -ms) end
end

-- Redisson throws out whoever is first and has outlasted its score, which a long lease makes it do.
-- With more than its own time left it stays, and so does the next when that time is taken off.
local function keep(head, record, score)
  if score and score >= now + record.waitMs then return end
  local fresh = now + math.max(leaseLeft(), 5000) + record.waitMs
  if score then return shiftAll(fresh - score) end
  shiftBehind(1, record.waitMs)
  setScore(head, fresh)
end

-- One of Java's that has lost its score would never be thrown out, dead or alive.
local function limit(head, score)
  if ahead > 0 then settle(0) end
  if score or redis.call('exists', lock) == 1 then return end
  setScore(head, now + 5000)
end

local function sweep()
  local swept, owedMs = 0, 0
  local head = redis.call('lindex', queue, 0)
  local record, score
  while head do
    record = recordOf(head)
    score = scoreOf(head)
    local isGone
    if record then isGone = record.life.aliveUntil <= now else isGone = score and score <= now end
    if not isGone or swept == 100 then break end
    redis.call('lpop', queue)
    redis.call('zrem', timeouts, head)
    forget(head, record)
    -- It leaves before its time, as if it had given up.
    if record and score and score > now then owedMs = owedMs + record.waitMs + record.owedMs end
    swept = swept + 1
    head = redis.call('lindex', queue, 0)
  end
  if owedMs > 0 or swept > 0 and not head then
    shiftAll(-owedMs)
    score = scoreOf(head)
  end
  if head and record and record.life.aliveUntil > now then keep(head, record, score) end
  if head and not record then limit(head, score) end
  return head, swept > 0, record
end

-- Searches from the head (1) or from the end (-1). Answers whether it was the next.
local function dequeue(from)
  local own = recordOf(owner)
  local isNext = redis.call('lindex', queue, 0) == owner
  local place = isNext and 0 or redis.call('lpos', queue, owner, 'rank', from)
  if place then
    remove(owner, place, from, own, waitMs)
  else
    redis.call('zrem', timeouts, owner)
    forget(owner, own)
  end
  return isNext
end


local function give(one, count, ms)
  redis.call('hset', lock, one, count)
  local expiry = redis.pcall('pexpire', lock, ms)
  -- A user without the right to expire keys must not leave a lock that never ends.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return false
  end
  
  return true
end
-- What cannot be done with the line must not make a release fail, which is done by then.
local function tried(step, ...)
  local isDone, answer = pcall(step, ...)
  return isDone and answer
end
-- Only what is so is told; and only who is told has it.
local function giveTo(waiter, place, record, leaseMs, count, tell)
  if not tried(give, waiter, count, leaseMs) then return false end
  if tell and not tell() then
    redis.call('del', lock)
    return false
  end
  remove(waiter, place, 1, record)
  local head, _, next = sweep()
  -- A Java thread sleeps for as long as the lock was to be held when it looked.
  if head and not next and (leftMs < 0 or tonumber(leaseMs) < leftMs) then announce(channelPrefix .. ':' .. head, '0') end
  return true
end

-- Whom nobody can reach is dead, or asks anew when it is back.
local function giveByMessage(waiter, place, record)
  local nonce, leaseMs, mode = string.match(record.terms, '^(%x+) ([1-9]%d*) ([se])$')
  local number = string.match(waiter, ':(%d+)$')
  if not mode or not number or record.life.aliveUntil <= now then return false end
  return giveTo(waiter, place, record, leaseMs, mode == 's' and '1' or '0', function()
    local receivers = announce(channelPrefix .. ':' .. waiter, number .. ' ' .. nonce .. ' ' .. record.life.askedAt)
    return receivers and receivers ~= 0
  end)
end

-- Whoever could not be reached keeps its place. Nobody overtakes one of whom only Java knows how it
-- is told, nor one that has not said yet that it is.
local function giveToNext(successor, leaseMs, starts)
  local head, _, record = sweep()
  if head and head == successor and record and giveTo(head, 0, record, leaseMs, starts) then
    return 'passed'
  end
  local waiter, place = head, 0
  while waiter and record and record.terms ~= '' and place < 32 do
    if giveByMessage(waiter, place, record) then return 'done' end
    place = place + 1
    waiter = redis.call('lindex', queue, place)
    record = waiter and recordOf(waiter)
  end
  -- Whoever is named, and stands in the queue no more, finds it free.
  if not head then return successor and 'yielded' or 'done' end
  return announce(channelPrefix .. ':' .. head, '0') and 'done'
end

-- A queue that cannot be read must not make a release fail that is done.
local function handOn(successor, leaseMs, starts)
  return tried(giveToNext, successor, leaseMs, starts) or 'unannounced'
end
local wasNext = dequeue(-1)
-- A key that holds something else by now is not ours to give back.
local held = redis.pcall('hget', lock, owner)
local isOurs = type(held) == 'string'
if isOurs then redis.call('del', lock) end
if (isOurs or wasNext) and redis.call('exists', lock) == 0 then return handOn() end
return 'done'