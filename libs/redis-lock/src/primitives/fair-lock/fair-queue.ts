/**
 * Lua of the queue before a fair lock. On the wire it is that of Redisson's RFairLock:
 * - `queue`, a list of owners: the first is the next to get the lock;
 * - `timeouts`, a sorted set of owners by the time (ms) after which Redisson throws them out.
 *
 * Whoever enters gets the score of the last in the queue, or the end of the lease, plus what it is
 * ready to wait; whoever leaves takes just that off from all behind it.
 *
 * Beside them `waiting` is ours, and read by nobody else: a hash owner → `aliveUntil waitMs since`, and
 * behind that ` nonce leaseMs manner` of those who are told when they are made the owner. Of an owner
 * without such a record, a Java service, only the score tells whether it is still there.
 *
 * Needs the keys `lock`, `queue`, `timeouts` and `waiting`.
 */

/** Of the dead at the head of the queue, one script takes away so many. */
const MOST_SWEPT = 100;
/** Of fewer it is quicker to set the scores one by one. */
const FEW = 8;
/** Lua takes only so many values at once. */
const MOST_VALUES = 5_000;
/** What a grant is told with, and is worth: `e` is for one that enters by itself. */
export const TERMS = `'^(%x+) ([1-9]%d*) ([se])$'`;
/** How long a waiter's score outlasts what it stands for, when it is set anew. */
const SPARE_MS = 5_000;
/** The keys of the queue outlive every score in them by so much, at least. */
const KEYS_TTL_MS = 12 * 60 * 60 * 1_000;

export const READ_QUEUE = `
local time = redis.call('time')
local sinceUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(sinceUs / 1000)

local function scoreOf(waiter)
  local score = waiter and redis.call('zscore', timeouts, waiter)
  return score and tonumber(score)
end

local function recordOf(waiter)
  local record = redis.call('hget', waiting, waiter)
  local aliveUntil, waitMs, since, terms = string.match(record or '', '^(%d+) (%d+) (%d+) ?(.*)$')
  if not since or (terms ~= '' and not string.find(terms, ${TERMS})) then return nil end
  return {
    aliveUntil = tonumber(aliveUntil),
    waitMs = tonumber(waitMs),
    since = tonumber(since),
    terms = terms,
  }
end

local function leaseLeft()
  return math.max(0, redis.call('pttl', lock))
end

-- All scores at once, if just these have one; the same sums, in a quarter of the time. By a set that
-- is in no script's keys: of a slot that moves, Redis would refuse one with a key that never exists.
local function shiftAll(waiters, ms)
  if #waiters <= ${String(FEW)} or redis.call('zcard', timeouts) ~= #waiters then return false end
  local ttl = redis.call('pttl', timeouts)
  local shifted = waiting .. ':shifted'
  local isDone = pcall(function()
    for from = 1, #waiters, ${String(MOST_VALUES)} do
      local to = math.min(#waiters, from + ${String(MOST_VALUES)} - 1)
      redis.call('sadd', shifted, unpack(waiters, from, to))
    end
    local found = redis.call('zinterstore', shifted, 2, timeouts, shifted, 'weights', 1, ms)
    if found ~= #waiters then error('another one has a score') end
    if ttl >= 0 then redis.call('pexpire', shifted, ttl) end
    redis.call('rename', shifted, timeouts)
  end)
  if not isDone then redis.pcall('del', shifted) end
  return isDone
end

-- For everybody from this place on. No score is ever made here: such a waiter would never be let in.
local function shift(place, ms)
  local waiters = redis.call('lrange', queue, place, -1)
  if place == 0 and shiftAll(waiters, ms) then return end
  for _, waiter in ipairs(waiters) do
    redis.call('zadd', timeouts, 'xx', 'incr', ms, waiter)
  end
end

local function remove(waiter, place, ms, from)
  local hadScore = redis.call('zrem', timeouts, waiter) == 1
  redis.call('hdel', waiting, waiter)
  if place == 0 then redis.call('lpop', queue) else redis.call('lrem', queue, from, waiter) end
  if hadScore then shift(place, -ms) end
end`;

/**
 * `sweep()` takes the dead from the head of the queue. Answers who is next now, if anybody, whether
 * somebody was taken away, and the record of the next.
 */
export const SWEEP = `
-- Redisson throws out whoever is first and has outlasted its score, which a long lease makes it do.
-- With more than its own time left it stays, and so does the next when that time is taken off.
local function keep(head, record, score)
  if score and score >= now + record.waitMs then return end
  local fresh = now + math.max(leaseLeft(), ${String(SPARE_MS)}) + record.waitMs
  shift(1, score and fresh - score or record.waitMs)
  redis.call('zadd', timeouts, fresh, head)
end

-- One of Java's that has lost its score would never be thrown out, dead or alive.
local function limit(head, score)
  if score or redis.call('exists', lock) == 1 then return end
  redis.call('zadd', timeouts, now + ${String(SPARE_MS)}, head)
end

local function sweep()
  local swept, owedMs = 0, 0
  local head = redis.call('lindex', queue, 0)
  local record, score
  while head do
    score = scoreOf(head)
    record = recordOf(head)
    local isGone
    if record then isGone = record.aliveUntil <= now else isGone = score and score <= now end
    if not isGone or swept == ${String(MOST_SWEPT)} then break end
    redis.call('lpop', queue)
    redis.call('zrem', timeouts, head)
    redis.call('hdel', waiting, head)
    -- It leaves before its time, as if it had given up.
    if record and score and score > now then owedMs = owedMs + record.waitMs end
    swept = swept + 1
    head = redis.call('lindex', queue, 0)
  end
  if owedMs > 0 then
    shift(0, -owedMs)
    score = scoreOf(head)
  end
  if head and record and record.aliveUntil > now then keep(head, record, score) end
  if head and not record then limit(head, score) end
  return head, swept > 0, record
end`;

/** `waitInLine`. Needs `owner`, the number `waitMs`, `aliveMs`: how long a waiter counts as alive, `terms`. */
export const ENQUEUE = `
local function remember(since)
  local record = string.format('%.0f %.0f %.0f', now + aliveMs, waitMs, since)
  redis.call('hset', waiting, owner, terms == '' and record or record .. ' ' .. terms)
end

-- What the one before it has and its own part; one that has lost its score is passed over.
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

-- A live one that is in the queue no more was thrown out by Java: back before all who came later.
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
    shift(place + 1, waitMs)
  else
    redis.call('rpush', queue, owner)
  end
  redis.call('zadd', timeouts, score, owner)
  return before, not after and score
end

-- A list and a set of one length hold the same owners: only else somebody has to search. Answers
-- whether something is new, who comes before one that is, and the score of one at the end.
local function enqueue(own)
  local score = scoreOf(owner)
  local length = redis.call('llen', queue)
  local isInStep = length == redis.call('zcard', timeouts)
  if own and score and isInStep then return false end
  local isNew = not own and not score and isInStep
  local place = not isNew and redis.call('lpos', queue, owner)
  local before, last
  if not place then
    before, last = insert(own and placeOf(own) or length, length)
  elseif not score then
    redis.call('zadd', timeouts, scoreAt(place), owner)
    shift(place + 1, waitMs)
  end
  if not own then remember(sinceUs) end
  return true, before, last
end

-- Answers the error of a user who may not expire keys.
local function keepKeys(last)
  last = last or scoreOf(redis.call('lindex', queue, -1)) or now
  local ttl = math.max(0, last - now) + ${String(KEYS_TTL_MS)}
  for _, key in ipairs({ queue, timeouts, waiting }) do
    if redis.call('pttl', key) < ttl then
      local expiry = redis.pcall('pexpire', key, ttl + ${String(KEYS_TTL_MS)})
      if type(expiry) == 'table' then return expiry end
    end
  end
end

-- How long it makes no sense to ask again, unless a message comes. Never 0.
local function patience(head)
  local pttl = redis.call('pttl', lock)
  if pttl == -1 then return pttl end
  if not head or head == owner then return math.max(1, pttl) end
  if pttl >= 0 then return math.max(500, pttl) end
  local record = recordOf(head)
  local goneAt = record and record.aliveUntil or scoreOf(head) or now
  return math.max(1, goneAt - now)
end

local function isOfOurs(other)
  return other and string.sub(other, 1, 37) == string.sub(owner, 1, 37)
end

-- Answers how long to wait, also to a caller that does not; and of a new one, whether it has nobody
-- to wait for but its own process.
local function waitInLine(own, head, record)
  local isBehindOwn = false
  if waitMs > 0 then
    local isNew, before, last = enqueue(own)
    if isNew then isBehindOwn = isOfOurs(before or redis.call('hkeys', lock)[1]) end
    -- A living head of ours does it for all, with its own polls.
    local refusal = (isNew or not record or head == owner) and keepKeys(last)
    if refusal then
      dequeue(-1)
      return refusal
    end
    if isNew and own then head = redis.call('lindex', queue, 0) end
  end
  return {patience(head), isBehindOwn and 1 or 0}
end`;

/** `dequeue()` takes a waiter from any place. Needs `owner` and the number `waitMs`. */
export const DEQUEUE = `
-- Searches from the head (1) or from the end (-1). Answers whether it was the next.
local function dequeue(from)
  local place = redis.call('lpos', queue, owner, 'rank', from)
  if place then
    remove(owner, place, waitMs, from)
  else
    redis.call('zrem', timeouts, owner)
    redis.call('hdel', waiting, owner)
  end
  return place == 0
end`;
