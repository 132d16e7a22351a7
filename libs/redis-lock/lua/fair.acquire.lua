local lock = KEYS[1]
local queue = KEYS[2]
local timeouts = KEYS[3]
local waiting = KEYS[4]
local owner = ARGV[1]
local leaseMs = ARGV[2]
local waitMs = ARGV[3]
local aliveMs = ARGV[4]
local askedAt = ARGV[5]
local terms = ARGV[6]
local channelPrefix = ARGV[7]
if not string.find(waitMs, '^%d+$') or #waitMs > 15 then return redis.error_reply('LOCKARG waitMs is not a whole number') end
waitMs = tonumber(waitMs)
if not string.find(aliveMs, '^%d+$') or #aliveMs > 15 then return redis.error_reply('LOCKARG aliveMs is not a whole number') end
aliveMs = tonumber(aliveMs)
if not string.find(askedAt, '^%d+$') or #askedAt > 15 then return redis.error_reply('LOCKARG askedAt is not a whole number') end
askedAt = tonumber(askedAt)
local countBy = 'numsub'
local function announce(channel, message)
  local receivers = redis.pcall('publish', channel, message)
  return type(receivers) ~= 'table' and receivers
end
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end
if aliveMs == 0 then return redis.error_reply('LOCKARG aliveMs must not be 0') end

local grantMs = select(2, string.match(terms, '^(%x+) ([1-9]%d*) ([se])$'))
if terms ~= '' and (not grantMs or #grantMs > 15) then
  return redis.error_reply('LOCKARG terms are none')
end
local held = redis.call('hget', lock, owner)
local fields = held and 1 or redis.call('hlen', lock)
local isFree = fields == 0
if not held and not isFree then
  
if not (fields == 1 and string.find(redis.call('hkeys', lock)[1], ':%-?%d+$')) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end
end
-- The queue is nearly always empty: then none of its Lua has to run.
local isUnawaited = isFree and not redis.call('lindex', queue, 0)
  and (waitMs == 0 or redis.call('hexists', waiting, owner) == 0)
local leaveQueue
if not held and not isUnawaited then
  
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
  
-- Searches from the head (1) or from the end (-1). Answers whether the waiter was the head.
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
  
local function aliveText(waiters)
  return lifeText(now + aliveMs, waiters, askedAt, aliveMs)
end

-- A process that sends an attempt is alive after any silence, and so are all of its waiters.
local function stayAlive()
  local own, life = recordOf(owner)
  if own then
    own.terms = terms
    redis.call('hset', waiting, owner, written(own), processOf(owner), aliveText(life.waiters))
  elseif life and life.aliveUntil <= now then
    redis.call('hset', waiting, processOf(owner), aliveText(life.waiters))
  end
  return own, life
end

local function remember(life)
  local record = written({ waitMs = waitMs, owedMs = 0, since = sinceUs, terms = terms })
  local process, waiters = processOf(owner), life and life.waiters or 0
  local added = redis.call('hset', waiting, owner, record, process, aliveText(waiters + 1))
  -- The record of the owner was not readable. The owner is already counted.
  if life and added == 0 then redis.call('hset', waiting, process, aliveText(waiters)) end
end

-- The score of the waiter before, and its own part. A waiter that has lost its score is passed
-- over.
local function scoreAt(place)
  local score, before
  while place > 0 and not score do
    place = place - 1
    local waiter = redis.call('lindex', queue, place)
    before = before or waiter
    score = scoreOf(waiter)
  end
  local baseMs = score and score - now or leaseLeft()
  return now + math.max(0, baseMs) + waitMs, before
end

-- Only the first waiter of a process polls. It sets the scores that others have lost: Redisson's
-- script fails behind a waiter without one.
local function rescore()
  for i, waiter in ipairs(redis.call('lrange', queue, 0, 100)) do
    local record = not scoreOf(waiter) and recordOf(waiter)
    if record then setScore(waiter, scoreAt(i - 1) - waitMs + record.waitMs) end
  end
end

-- Java has removed a live waiter that is not in the list: it goes before all that came later.
local function placeOf(own)
  local place = 0
  while true do
    local other = redis.call('lindex', queue, place)
    local record = other and recordOf(other)
    if not record or record.since > own.since then return place end
    place = place + 1
  end
end

local function insert(place, length)
  local after = place < length and redis.call('lindex', queue, place)
  local score, before = scoreAt(place)
  if after then
    redis.call('linsert', queue, 'before', after, owner)
    shiftBehind(place + 1, waitMs)
  else
    redis.call('rpush', queue, owner)
  end
  setScore(owner, score)
  return before, not after and score
end

-- A list and a set of one length hold the same owners: only otherwise the script has to search.
-- Answers whether the queue changed, the owner before a new one, and the score of one at the end.
local function enqueue(own, life)
  local score = scoreOf(owner)
  local length = redis.call('llen', queue)
  local isInStep = length == redis.call('zcard', timeouts)
  if own and score and isInStep then return false end
  local isNew = not own and not score and isInStep
  local place = not isNew and redis.call('lpos', queue, owner)
  if own and score and place then
    rescore()
    return false
  end
  local before, last
  if not place then
    before, last = insert(own and placeOf(own) or length, length)
    -- At its new place the owner owes nothing for waiters that left behind its former one.
    if own and own.owedMs > 0 then
      own.owedMs = 0
      redis.call('hset', waiting, owner, written(own))
    end
  elseif not score then
    setScore(owner, (scoreAt(place)))
    if scoreOf(redis.call('lindex', queue, place + 1)) then shiftBehind(place + 1, waitMs) end
  end
  if not own then remember(life) end
  return true, before, last
end

-- Answers the error for a user who may not expire keys.
local function prolongKeys(last)
  last = last or scoreOf(redis.call('lindex', queue, -1)) or now
  local ttl = math.max(0, last - now) + 43200000
  for _, key in ipairs({ queue, timeouts, waiting }) do
    if redis.call('pttl', key) < ttl then
      local expiry = redis.pcall('pexpire', key, ttl + 43200000)
      if type(expiry) == 'table' then return expiry end
    end
  end
end

-- The time (ms) in which only a message makes another attempt useful. Never 0.
local function pauseBehind(head)
  local pttl = redis.call('pttl', lock)
  if pttl == -1 then return pttl end
  if not head or head == owner then return math.max(1, pttl) end
  if pttl >= 0 then return math.max(500, pttl) end
  local record = recordOf(head)
  local goneAt = record and record.life.aliveUntil or scoreOf(head) or now
  return math.max(1, goneAt - now)
end

local function isOfOurs(other)
  return other and processOf(other) == processOf(owner)
end

-- Adds the owners of its process that are ahead of it. Some may have been served long ago, if Redis
-- lost its newest data since.
local function siblings(answer)
  for _, other in ipairs(redis.call('lrange', queue, 0, 99)) do
    if other == owner then break end
    if isOfOurs(other) then answer[#answer + 1] = other end
  end
  return answer
end

-- Answers the time to wait (ms), also to a caller that does not wait. Then the tag of a new waiter, or
-- 0. Then its siblings, if nobody takes the free lock, or else the head, if that is one.
local function waitInQueue(own, life, head, record)
  local tag = 0
  if waitMs > 0 then
    local isNew, before, last = enqueue(own, life)
    if isNew then
      local isBehindOwn = isOfOurs(before or redis.call('hkeys', lock)[1])
      tag = isBehindOwn and 1 or 2
    end
    -- A live head of our process renews the keys for all of its waiters, by its own polls.
    local refusal = (isNew or not record or head == owner) and prolongKeys(last)
    if refusal then
      dequeue(-1)
      return refusal
    end
    if isNew and own then head = redis.call('lindex', queue, 0) end
    if not isNew and head ~= owner then
      if isFree then return siblings({pauseBehind(head), tag}) end
      if isOfOurs(head) then return {pauseBehind(head), tag, head} end
    end
  end
  return {pauseBehind(head), tag}
end
  
local own, life
if waitMs > 0 then own, life = stayAlive() end
local head, hasSwept, record = sweep()
local isNext = not head or head == owner
-- Where nobody can tell who listens, the lock would go to waiters that were served long ago.
if isFree and not isNext and countBy then
  local leftMs = -1
  

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
  local isGiven, place = giveBefore(owner, head, record)
  -- Its process can tell whether the siblings that it would overtake still wait.
  isNext = place and (waitMs == 0 or not siblings({})[1])
  if isGiven then
    isFree = false
    head, hasSwept, record = sweep()
    if waitMs > 0 then own, life = recordOf(owner) end
  end
end
if not isFree or not isNext then
  local answer = waitInQueue(own, life, head, record)
  -- A Java thread does not poll, and gets no wake-up when a lease or a claim expires.
  if isFree and (hasSwept or waitMs > 0 and not record) then announce(channelPrefix .. ':' .. head, '0') end
  return answer
end
leaveQueue = function()
  -- Java removes a waiter from the queue, but not its record.
  if head == owner then remove(owner, 0, 1, record, waitMs) elseif head or own then dequeue(1) end
  if head or own then sweep() end
end
end

if held then
  if held ~= '1' then redis.call('hset', lock, owner, '1') end
  if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  return 1
end

redis.call('hset', lock, owner, '1')
local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  redis.call('del', lock)
  return expiry
end
if leaveQueue then leaveQueue() end
return 1