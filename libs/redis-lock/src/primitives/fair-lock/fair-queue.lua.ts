import { REFUSED } from '../lua/answers.js';
import { fragment } from '../lua/fragment.js';

/** Lua of the waiters before a fair lock, behind `READ_QUEUE`. */

/** One script removes at most 100 dead waiters from the head of the queue. */
const MOST_SWEPT = 100;
/** A new score lasts at least 5 s. */
const SPARE_MS = 5_000;
/** An attempt looks for its siblings among the first 100 waiters. */
const MOST_SEEN = 100;
/** The keys of the queue outlive every score in them by at least 12 hours. */
const KEYS_TTL_MS = 12 * 60 * 60 * 1_000;

/**
 * `sweep()` removes dead waiters from the head of the queue. Returns the head, if there is one,
 * whether a waiter was removed, and the record of the head.
 */
export const SWEEP = fragment(
  'ahead forget leaseLeft lifeText lock now processOf queue recordOf scoreOf setScore settle shiftAll shiftBehind timeouts waiting',
  'isGone limit prolong sweep',
)`
-- Redisson removes a head whose score is over, as under a long lease. With more than its own wait
-- time left, the head stays. So does the next waiter, when that time is taken off.
local function prolong(head, record, score)
  if score and score >= now + record.waitMs then return end
  local fresh = now + math.max(leaseLeft(), ${String(SPARE_MS)}) + record.waitMs
  if score then return shiftAll(fresh - score) end
  shiftBehind(1, record.waitMs)
  setScore(head, fresh)
end

-- Without a score a Java thread would never be removed, dead or alive.
local function limit(head, score)
  if ahead > 0 then settle(0) end
  if score or redis.call('exists', lock) == 1 then return end
  setScore(head, now + ${String(SPARE_MS)})
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
    if not isGone(head, record, score) or swept == ${String(MOST_SWEPT)} then break end
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
end`;

/**
 * `waitInQueue`. Needs `isFree`, `owner`, the number `waitMs`, `aliveMs` (how long its process counts
 * as alive), `askedAt` and `terms`.
 */
export const ENQUEUE = fragment(
  'aliveMs askedAt dequeue isFree leaseLeft lifeText lock now owner processOf queue recordOf scoreOf setScore shiftBehind sinceUs terms timeouts waitMs waiting written',
  'aliveText enqueue insert isOfOurs pauseBehind placeOf prolongKeys remember rescore scoreAt siblings stayAlive waitInQueue',
)`
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
  for i, waiter in ipairs(redis.call('lrange', queue, 0, ${String(MOST_SEEN)})) do
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
  local ttl = math.max(0, last - now) + ${String(KEYS_TTL_MS)}
  for _, key in ipairs({ queue, timeouts, waiting }) do
    if redis.call('pttl', key) < ttl then
      local expiry = redis.pcall('pexpire', key, ttl + ${String(KEYS_TTL_MS)})
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
  for _, other in ipairs(redis.call('lrange', queue, 0, ${String(MOST_SEEN - 1)})) do
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
      tag = isBehindOwn and ${String(REFUSED.newBehindOwn)} or ${String(REFUSED.newBehindOthers)}
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
end`;

/** `dequeue()` removes a waiter from any place. Needs `owner` and the number `waitMs`. */
export const DEQUEUE = fragment('forget owner queue recordOf remove timeouts waitMs', 'dequeue')`
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
end`;
