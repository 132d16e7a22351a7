/**
 * Who goes first, among Node processes; Java sees nothing of it. Beside the lock, each with a TTL:
 *
 * - `writers`, owner → when it is forgotten: who waits to write. While one does, no new reader enters.
 * - `patience`: as long as it lives, readers put up with that; without it, a turn of theirs is due.
 *   It is renewed whenever they had one.
 * - `readers`, owner → when it is forgotten: who waits to read.
 * - `turn`: the readers whose turn it is. They enter past the writers, and no writer enters before
 *   them. It ends when all of them have entered or left.
 */

/** How long readers wait behind writers that do not get in either. */
const PATIENCE_MS = 5_000;

/** How long writers wait for a reader that does not take its turn: for one that has crashed. */
export const TURN_MS = 1_000;

/** Who waits is forgotten after so many polls, unless it asks again. */
const FORGOTTEN_AFTER_POLLS = 3;

export function memoryMs(pollIntervalMs: number): number {
  return FORGOTTEN_AFTER_POLLS * pollIntervalMs;
}

/** Lua: forgetting those who wait and have not asked again; by `serverTime`. */
export const WAITING = `
local function nowMs()
  return math.floor(serverTime() / 1000)
end
-- Whether anybody is waiting there.
local function isAwaited(waiting)
  if redis.call('exists', waiting) == 0 then return false end
  redis.call('zremrangebyscore', waiting, '-inf', nowMs())
  return redis.call('exists', waiting) == 1
end`;

/** Lua, behind `WAITING`: remembering those who wait. */
export const REMEMBER = `
local function remember(waiting, waiter, memoryMs)
  -- With its memory full Redis remembers nobody: then there is no order, but the lock works.
  local added = redis.pcall('zadd', waiting, nowMs() + memoryMs, waiter)
  if type(added) == 'table' then return end
  local answer = redis.pcall('pttl', waiting)
  if type(answer) ~= 'table' and answer < memoryMs then
    answer = redis.pcall('pexpire', waiting, memoryMs)
  end
  -- A user without the right to expire keys must not leave a memory that never ends.
  if type(answer) == 'table' then redis.pcall('zrem', waiting, waiter) end
end`;

/** Lua: those who wait to read go first, once. */
export const GIVE_TURN = `
local function giveTurn()
  if redis.call('exists', readers, writers) == 0 then return end
  if isAwaited(readers) then
    redis.call('rename', readers, turn)
    redis.call('pexpire', turn, ${String(TURN_MS)})
  end
  if redis.call('exists', writers) == 1 then
    redis.pcall('set', patience, '1', 'px', ${String(PATIENCE_MS)})
  end
end`;

/** Lua: a writer waits, and keeps new readers out; their patience begins with the first. */
export const WAIT_TO_WRITE = `${REMEMBER}
local function waitToWrite(writer)
  local isFirst = not isAwaited(writers)
  remember(writers, writer, memoryMs)
  if isFirst then redis.pcall('set', patience, '1', 'px', ${String(PATIENCE_MS)}) end
end`;

/** Lua: a writer waits no more; whether nobody else waits to write. */
export const FORGET = `
local function forget(writer)
  if redis.call('zrem', writers, writer) == 0 or isAwaited(writers) then return false end
  redis.call('del', patience)
  return true
end`;
