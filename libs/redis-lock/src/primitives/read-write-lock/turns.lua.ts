import { fragment } from '../lua/fragment.js';

/**
 * The order of readers and writers among Node processes; Java does not read it. The keys beside the
 * lock, each with a TTL:
 *
 * - `writers`, owner → when it is forgotten: the waiting writers. While one waits, no new reader
 *   acquires.
 * - `writersTurn`: while it exists, readers wait behind writers. Without it, the readers' turn is due.
 *   Each of their turns renews it.
 * - `readers`, owner → when it is forgotten: the waiting readers.
 * - `turn`: the readers whose turn it is. They acquire before the writers. The turn ends when all
 *   of them have acquired or left.
 */

/** How long readers wait behind writers that do not acquire either. */
const WRITERS_TURN_MS = 5_000;

/** How long writers wait for a reader that does not take its turn, as after a crash. */
export const TURN_MS = 1_000;

/** A waiter is forgotten after 3 polls, unless it sends another attempt. */
const FORGOTTEN_AFTER_POLLS = 3;

export function memoryMs(pollIntervalMs: number): number {
  return FORGOTTEN_AFTER_POLLS * pollIntervalMs;
}

/** Lua that forgets waiters without a new attempt, by `serverTime`. */
export const WAITING = fragment('serverTime', 'isAwaited nowMs')`
local function nowMs()
  return math.floor(serverTime() / 1000)
end
-- Whether the set has a waiter.
local function isAwaited(waiting)
  if redis.call('exists', waiting) == 0 then return false end
  redis.call('zremrangebyscore', waiting, '-inf', nowMs())
  return redis.call('exists', waiting) == 1
end`;

/** Lua that remembers waiters, behind `WAITING`. */
export const REMEMBER = fragment('nowMs', 'remember')`
local function remember(waiting, waiter, memoryMs)
  -- With its memory full Redis remembers no waiter: there is no order then, but the lock works.
  local added = redis.pcall('zadd', waiting, nowMs() + memoryMs, waiter)
  if type(added) == 'table' then return end
  local answer = redis.pcall('pttl', waiting)
  if type(answer) ~= 'table' and answer < memoryMs then
    answer = redis.pcall('pexpire', waiting, memoryMs)
  end
  -- A user without the right to expire keys must not leave a set that never expires.
  if type(answer) == 'table' then redis.pcall('zrem', waiting, waiter) end
end`;

/** Lua: `giveTurn()` lets the waiting readers go first, once. */
export const GIVE_TURN = fragment('isAwaited readers turn writers writersTurn', 'giveTurn')`
local function giveTurn()
  if redis.call('exists', readers, writers) == 0 then return end
  if isAwaited(readers) then
    redis.call('rename', readers, turn)
    redis.call('pexpire', turn, ${String(TURN_MS)})
  end
  if redis.call('exists', writers) == 1 then
    redis.pcall('set', writersTurn, '1', 'px', ${String(WRITERS_TURN_MS)})
  end
end`;

/** Lua: the rest of the writers' turn (ms), or false when it is over. */
export const WRITERS_TURN_LEFT = fragment('writersTurn', 'leftOf writersTurnLeft')`
-- More is left only when the clock was set back: that must not prolong a wait.
local function leftOf(key, mostMs)
  local left = redis.call('pttl', key)
  return left > 0 and left <= mostMs and left
end
local function writersTurnLeft()
  return leftOf(writersTurn, ${String(WRITERS_TURN_MS)})
end`;

/** Lua: the rest of the readers' turn (ms), behind `WRITERS_TURN_LEFT`. */
export const TURN_LEFT = fragment('leftOf turn', 'turnLeft')`
local function turnLeft()
  return leftOf(turn, ${String(TURN_MS)})
end`;

/**
 * Lua: a waiting writer keeps new readers out. With the first writer, the writers' turn begins.
 */
export const WAIT_TO_WRITE = fragment(
  'isAwaited memoryMs nowMs writers writersTurn',
  'remember waitToWrite',
)`${REMEMBER}
local function waitToWrite(writer)
  local isFirst = not isAwaited(writers)
  remember(writers, writer, memoryMs)
  if isFirst then redis.pcall('set', writersTurn, '1', 'px', ${String(WRITERS_TURN_MS)}) end
end`;

/** Lua: `forget(writer)` ends its wait, and returns whether no other writer waits. */
export const FORGET = fragment('isAwaited writers writersTurn', 'forget')`
local function forget(writer)
  if redis.call('zrem', writers, writer) == 0 or isAwaited(writers) then return false end
  redis.call('del', writersTurn)
  return true
end`;
