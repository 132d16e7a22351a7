local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local waiting = KEYS[4]
local owner = ARGV[1]
local channelPrefix = ARGV[2]
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not redis.call('hget', lock, owner) then return 'absent' end
if redis.pcall('lindex', queue, 0) == false then
  redis.call('del', lock)
  return 'done'
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

-- Redisson takes time off a score that Redis has lost: that leaves a number which is no time.
local function scoreOf(waiter)
  local score = waiter and tonumber(redis.call('zscore', timeouts, waiter) or 0)
  if score and score > 1e12 then return score - (ahead or readAhead(redis.call('hget', waiting, 'ahead'))) end
end

local function setScore(waiter, score)
  redis.call('zadd', timeouts, score + (ahead or readAhead(redis.call('hget', waiting, 'ahead'))), waiter)
end

-- The second answer is the record of its process, also for a waiter without a record.
local function recordOf(waiter)
  local own, process, scores = unpack(redis.call('hmget', waiting, waiter, processOf(waiter), 'ahead'))
  if not ahead then readAhead(scores) end
  if not process then return nil end
  local aliveUntil, waiters, askedAt, aliveMs = string.match(process or '', '^(%d+) (%d+) (%d+) (%d+)$')
  local life = waiters
    and { aliveUntil = tonumber(aliveUntil), waiters = tonumber(waiters), askedAt = tonumber(askedAt), aliveMs = tonumber(aliveMs) }
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

local function lifeText(aliveUntil, waiters, askedAt, aliveMs)
  return string.format('%.0f %.0f %.0f %.0f', aliveUntil, waiters, askedAt, aliveMs)
end

-- With its last waiter, the record of a process goes too.
local function forget(waiter, record)
  if record and record.life.waiters <= 1 then
    redis.call('hdel', waiting, waiter, processOf(waiter))
  elseif redis.call('hdel', waiting, waiter) == 1 and record then
    local life = record.life
    local text = lifeText(life.aliveUntil, life.waiters - 1, life.askedAt, life.aliveMs)
    redis.call('hset', waiting, processOf(waiter), text)
  end
end

local function leaseLeft()
  return math.max(0, redis.call('pttl', lock))
end

-- XX makes no new score: Redisson takes a waiter with a score for queued, and never grants it.
local function shiftEach(waiters, ms)
  for _, waiter in ipairs(waiters) do
    redis.call('zadd', timeouts, 'xx', 'incr', ms, waiter)
  end
end

-- Corrects all scores, and adds ms to them.
local function settle(ms)
  if ahead > 0 then redis.call('hdel', waiting, 'ahead') end
  local by = ms - ahead
  ahead = 0
  if by ~= 0 then shiftEach(redis.call('lrange', queue, 0, -1), by) end
end

-- For all waiters. Behind a waiter of ours, scores do not matter: with many waiters, the change is
-- only noted in ahead. It is settled before a Java thread is the head, where a dead one would stay
-- too long.
local function shiftAll(ms)
  if not ahead then readAhead(redis.call('hget', waiting, 'ahead')) end
  local isFew = redis.call('llen', queue) <= 8
  if isFew or ahead < ms or not recordOf(redis.call('lindex', queue, 0)) then return settle(ms) end
  ahead = ahead - ms
  redis.call('hset', waiting, 'ahead', string.format('%.0f', ahead))
end

-- For all waiters from this place on. With many, the waiter before them owes the change until it
-- leaves.
local function shiftBehind(place, ms)
  local areMany = ms < 0 and redis.call('llen', queue) - place > 8
  local before = areMany and redis.call('lindex', queue, place - 1)
  local record = before and recordOf(before)
  if not record then return shiftEach(redis.call('lrange', queue, place, -1), ms) end
  record.owedMs = record.owedMs - ms
  redis.call('hset', waiting, before, written(record))
end

-- For a waiter without a record, waitMs is the time that it has added.
local function remove(waiter, place, from, record, waitMs)
  local ms = record and record.waitMs + record.owedMs or waitMs
  local hadScore = redis.call('zrem', timeouts, waiter) == 1
  forget(waiter, record)
  if place == 0 then redis.call('lpop', queue) else redis.call('lrem', queue, from, waiter) end
  if not hadScore then return end
  if place == 0 then shiftAll(-ms) else shiftBehind(place, -ms) end
end
-- DEL is the first write: after it Redis refuses none, however full its memory is.
redis.call('del', lock)

-- Redisson removes a head whose score is over, as under a long lease. With more than its own wait
-- time left, the head stays. So does the next waiter, when that time is taken off.
local function prolong(head, record, score)
  if score and score >= now + record.waitMs then return end
  local fresh = now + math.max(leaseLeft(), 5000) + record.waitMs
  if score then return shiftAll(fresh - score) end
  shiftBehind(1, record.waitMs)
  setScore(head, fresh)
end

-- Without a score a Java thread would never be removed, dead or alive.
local function limit(head, score)
  if ahead > 0 then settle(0) end
  if score or redis.call('exists', lock) == 1 then return end
  setScore(head, now + 5000)
end

local function isGone(head, record, score)
  if not record then return score and score <= now end
  local life = record.life
  if life.aliveUntil - now > life.aliveMs then
    -- The clock was set back since.
    life.aliveUntil = now + life.aliveMs
    redis.call('hset', waiting, processOf(head), lifeText(life.aliveUntil, life.waiters, life.askedAt, life.aliveMs))
  end
  return life.aliveUntil <= now
end

local function sweep()
  local swept, owedMs = 0, 0
  local head = redis.call('lindex', queue, 0)
  local record, score
  while head do
    record = recordOf(head)
    score = scoreOf(head)
    if not isGone(head, record, score) or swept == 100 then break end
    redis.call('lpop', queue)
    redis.call('zrem', timeouts, head)
    forget(head, record)
    -- A dead waiter leaves before its time, as after a cancel.
    if record and score and score > now then owedMs = owedMs + record.waitMs + record.owedMs end
    swept = swept + 1
    head = redis.call('lindex', queue, 0)
  end
  if owedMs > 0 or swept > 0 and not head then
    shiftAll(-owedMs)
    score = scoreOf(head)
  end
  if head and record and record.life.aliveUntil > now then prolong(head, record, score) end
  if head and not record then limit(head, score) end
  return head, swept > 0, record
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
-- The grant comes before its push, so that the push is always true. A grant without a receiver is
-- taken back.
local function giveTo(waiter, place, record, leaseMs, count, tell)
  if not tried(give, waiter, count, leaseMs) then return false end
  if tell and not tell() then
    redis.call('del', lock)
    return false
  end
  remove(waiter, place, 1, record)
  local head, _, next = sweep()
  -- A Java thread sleeps for the lease that it saw when it looked.
  if head and not next and (leftMs < 0 or tonumber(leaseMs) < leftMs) then announce(channelPrefix .. ':' .. head, '0') end
  return true
end

-- A waiter without a subscription is dead, or sends an attempt when it is connected again. Answers
-- also whether a right is missing, without which nobody can be reached.
local function giveByMessage(waiter, place, record)
  local nonce, leaseMs, mode = string.match(record.terms, '^(%x+) ([1-9]%d*) ([se])$')
  local number = string.match(waiter, ':(%d+)$')
  if not mode or not number or record.life.aliveUntil <= now then return false end
  local receivers
  local isGiven = giveTo(waiter, place, record, leaseMs, mode == 's' and '1' or '0', function()
    local push = string.format('%s %s %.0f', number, nonce, record.life.askedAt)
    receivers = announce(channelPrefix .. ':' .. waiter, push)
    return receivers and receivers ~= 0
  end)
  return isGiven, not receivers
end

-- Goes from the head up to the waiter one. Answers whether the lock is given. If nobody before
-- it can be reached, then the place and the record of one, or of the end of the queue. A waiter
-- that could not be reached keeps its place. No waiter overtakes a Java thread, which only Java can
-- wake, nor a waiter without terms.
local function giveBefore(one, waiter, record)
  local place = 0
  while waiter and waiter ~= one do
    if not record or record.terms == '' or place == 32 then return false end
    local isGiven, isMute = giveByMessage(waiter, place, record)
    if isGiven or isMute then return isGiven end
    place = place + 1
    waiter = redis.call('lindex', queue, place)
    record = waiter and recordOf(waiter)
  end
  return false, place, waiter and record
end
local function giveToNext(successor, leaseMs, starts)
  local head, _, record = sweep()
  local isGiven, place, its = giveBefore(successor, head, record)
  if isGiven then return 'done' end
  if its and giveTo(successor, place, its, leaseMs, starts) then return 'passed' end
  -- A successor that has left the queue finds the lock free.
  local receivers = head and announce(channelPrefix .. ':' .. head, '0')
  if successor and (not head or receivers == 0) then return 'yielded' end
  return (not head or receivers) and 'done'
end

-- The release is done by then: a queue that Redis cannot read must not make it fail.
local function handOn(successor, leaseMs, starts)
  return tried(giveToNext, successor, leaseMs, starts) or 'unannounced'
end
return handOn()