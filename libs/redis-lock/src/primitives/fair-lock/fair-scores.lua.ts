import { fragment } from '../lua/fragment.js';

/**
 * Lua of the queue before a fair lock. On the wire it is that of Redisson's RFairLock:
 * - `queue`, a list of owners. The head gets the lock next.
 * - `timeouts`, a sorted set of owners by the time (ms) after which Redisson removes them.
 *
 * A new waiter's score is the last one in the queue, or the lease's end, plus its waiting
 * time. A waiter that leaves subtracts its waiting time from all scores behind it.
 *
 * The hash `waiting` belongs to this library; Java does not read it:
 * - owner → `waitMs since`. Behind that ` nonce leaseMs mode`, the terms of a waiter that takes
 *   pushes. It is `waitMs+owedMs` after waiters behind it have left: it subtracts their time when
 *   it leaves.
 * - process → `aliveUntil waiters askedAt aliveMs`. All of its waiters are alive while it sends
 *   attempts for one of them. `askedAt` is the last attempt by its own time (ms). An `aliveUntil`
 *   of more than `aliveMs` from now is from before the clock was set back.
 * - `ahead` → how far (ms) all scores are above Redisson's accounting.
 *
 * An owner without such records is a Java thread: only its score shows whether it is alive.
 *
 * An example, in seconds from now. The lease ends in 30. B, C and D wait for 20, 10 and 5:
 *
 *     step                                scores of B C D   owed by B   ahead
 *     all have joined                         50  60  65            0       0
 *     C leaves; few wait                      50   –  55            0       0
 *     C leaves; many wait                     50   –  65           10       0
 *     then B, the head, leaves                 –   –  65            –      30
 *     a Java thread becomes the head           –   –  35            –       0
 *
 * Redisson's accounting gives D 35 at the end in both cases: the lease and its own 5.
 */

/** With more than 8 waiters, scores change only before Redisson judges a thread by its score. */
const FEW = 8;
/**
 * The terms of a grant: its nonce, its lease, and `e` for a waiter that acquires by its own script.
 */
export const TERMS = `'^(%x+) ([1-9]%d*) ([se])$'`;

export const READ_QUEUE = fragment(
  'lock queue timeouts waiting',
  'ahead forget leaseLeft lifeText now processOf readAhead recordOf remove scoreOf setScore settle shiftAll shiftBehind shiftEach sinceUs time written',
)`
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
  local isFew = redis.call('llen', queue) <= ${String(FEW)}
  if isFew or ahead < ms or not recordOf(redis.call('lindex', queue, 0)) then return settle(ms) end
  ahead = ahead - ms
  redis.call('hset', waiting, 'ahead', string.format('%.0f', ahead))
end

-- For all waiters from this place on. With many, the waiter before them owes the change until it
-- leaves.
local function shiftBehind(place, ms)
  local areMany = ms < 0 and redis.call('llen', queue) - place > ${String(FEW)}
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
end`;
