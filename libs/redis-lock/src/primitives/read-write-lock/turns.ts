import { helperKey } from '../../core/key-space.js';

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
export const TURN_KEYS = ['writers', 'patience', 'readers', 'turn'] as const;

/** How long readers wait behind writers that do not get in either. */
export const PATIENCE_MS = 5_000;

/** How long writers wait for a reader that does not take its turn: for one that has crashed. */
export const TURN_MS = 1_000;

/** Who waits is forgotten after so many polls, unless it asks again. */
const FORGOTTEN_AFTER_POLLS = 3;

export function memoryMs(pollIntervalMs: number): number {
  return FORGOTTEN_AFTER_POLLS * pollIntervalMs;
}

export function turnKeys(key: string): Record<(typeof TURN_KEYS)[number], string> {
  return {
    writers: helperKey('nestjs_rwlock_writers', key),
    patience: helperKey('nestjs_rwlock_patience', key),
    readers: helperKey('nestjs_rwlock_readers', key),
    turn: helperKey('nestjs_rwlock_turn', key),
  };
}

/** Lua: remembering those who wait, and forgetting those who have not asked again. */
export const WAITING = `
local function serverTime()
  local time = redis.call('time')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
-- Whether anybody is waiting there.
local function isAwaited(waiting)
  if redis.call('exists', waiting) == 0 then return false end
  redis.call('zremrangebyscore', waiting, '-inf', serverTime())
  return redis.call('exists', waiting) == 1
end
local function remember(waiting, waiter, memoryMs)
  -- With its memory full Redis remembers nobody: then there is no order, but the lock works.
  local added = redis.pcall('zadd', waiting, serverTime() + memoryMs, waiter)
  if type(added) == 'table' then return end
  if redis.call('pttl', waiting) < memoryMs then redis.call('pexpire', waiting, memoryMs) end
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
