/**
 * Lua of the queue before a fair lock. On the wire it is that of Redisson's RFairLock:
 * - `queue`, a list of owners: the first is the next to get the lock;
 * - `timeouts`, a sorted set of owners by the time (ms) after which Redisson throws them out.
 *
 * A new waiter gets the score of the last in the queue, or the end of the lease, plus what it is
 * ready to wait; whoever leaves takes just that off from all behind it.
 *
 * Beside them `waiting` is ours, and read by nobody else: a hash
 * - owner → `waitMs since`, and behind that ` nonce leaseMs mode` of those who are told when they are
 *   made the owner; `waitMs+owedMs` when others behind it have left, whose time it takes off for them;
 * - process → `aliveUntil waiters askedAt`: all of its waiters are alive for as long as it asks for one
 *   of them; `askedAt` is its own time (ms) of the last question;
 * - `ahead` → how far (ms) all scores are above what Redisson's accounting makes of them.
 *
 * An owner without such records is a Java thread: only its score tells whether it is still there.
 *
 * Needs the keys `lock`, `queue`, `timeouts` and `waiting`.
 */

/** Scores of waiters beyond this number change only when a thread is judged by its score. */
const FEW = 8;
/** The terms of a grant: its nonce, its lease, and `e` for a waiter that acquires by its own script. */
export const TERMS = `'^(%x+) ([1-9]%d*) ([se])$'`;

export const READ_QUEUE = `
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
  if not life or not since or (terms ~= '' and not string.find(terms, ${TERMS})) then return nil, life end
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
  local isFew = redis.call('llen', queue) <= ${String(FEW)}
  if isFew or ahead < ms or not recordOf(redis.call('lindex', queue, 0)) then return settle(ms) end
  ahead = ahead - ms
  redis.call('hset', waiting, 'ahead', string.format('%.0f', ahead))
end

-- For everybody from this place on. Of many, the one before them takes it along when it leaves.
local function shiftBehind(place, ms)
  local areMany = ms < 0 and redis.call('llen', queue) - place > ${String(FEW)}
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
end`;
