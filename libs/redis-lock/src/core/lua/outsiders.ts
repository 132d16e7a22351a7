import type { LockSettings } from '../api/options.js';
import { nodesChannel } from '../redis/key-names.js';
import { LAST_BACKOFF_MS } from '../time/polls.js';

/**
 * The share of outsiders, which are in no line, as Java services are. They race for a lock that is free,
 * and a lock that is handed on never is. So the line leaves it to them now and then, and stands back as
 * long as they use that time: for as long as the line has had it, × the outsiders that listen ÷ the
 * processes of ours that do.
 */

/** How long those in line stand back for an outsider that was told that the lock is free, or had it. */
export const STAND_BACK_MS = 20;
/** Outsiders have the lock to themselves for no longer than that, however long the line has had it. */
export const LONGEST_OPEN_MS = 1_000;
/**
 * Nobody can say how many threads of an outsider wait. It counts as more than a process of ours with few
 * callers, and as less than one with many: each side is to get half of its share of the callers at least.
 */
export const FAVOUR = 1.5;
export const MANY_CALLERS = 8;
/** How long it is known when the lock was left to outsiders, while it is handed on now and then. */
const OPENED_TTL_MS = 3_000;
/** No server has so many clients. */
const TOO_MANY = 1_000_000;

/**
 * So often at least a lock that is handed on is left to outsiders, which are in no line, while they
 * listen; 0 is never.
 */
export function openEveryMs({ interop }: Pick<LockSettings, 'interop'>): number {
  return { auto: 1_000, redisson: 1, none: 0 }[interop];
}

/**
 * Outsiders that poll hear of nothing: whoever polls as well leaves the lock free after its turn, and
 * stands back for as long as the longest pause of Redisson's spin lock.
 */
export function isAmongPolls(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): boolean {
  return settings.wakeUp === 'poll' && openEveryMs(settings) > 0;
}

export function standBackMs(settings: Pick<LockSettings, 'interop' | 'wakeUp'>): number {
  return isAmongPolls(settings) ? LAST_BACKOFF_MS : STAND_BACK_MS;
}

/** Lua: reads and writes `opened`, of which nothing makes a script fail. */
export const DOOR = `
local shortestMs, longestMs = ${String(STAND_BACK_MS)}, ${String(LONGEST_OPEN_MS)}
local function door()
  local times = redis.pcall('get', opened)
  local pattern = '^(%d+) (%d+) (%d+) (%d+)$'
  local since, untilMs, endMs, unused = string.match(type(times) == 'string' and times or '', pattern)
  return tonumber(since), tonumber(untilMs), tonumber(endMs), tonumber(unused)
end
local function setDoor(since, untilMs, endMs, unused)
  local times = string.format('%.0f %.0f %.0f %.0f', since, untilMs, endMs, unused)
  redis.pcall('set', opened, times, 'px', ${String(OPENED_TTL_MS)})
end
local function isOpen(endMs, nowMs)
  -- More is left only when the clock was set back.
  return endMs and endMs > nowMs and endMs - nowMs <= longestMs
end`;

/**
 * Lua: `standingBack(isHeld)` answers for how long (ms) the line leaves the lock to outsiders, or nil.
 * While they have time and somebody holds it, the line goes on; `takeBack()` ends their time.
 */
export const STANDING_BACK = `
${DOOR}
local function standingBack(isHeld)
  local since, untilMs, endMs = door()
  local nowMs = serverTime() / 1000
  if not isOpen(endMs, nowMs) then return end
  if isHeld then
    untilMs = math.min(math.floor(nowMs) + shortestMs, endMs)
    setDoor(since, untilMs, endMs, 0)
  end
  local left = math.ceil(untilMs - nowMs)
  return left > 0 and left <= shortestMs and left or nil
end
local function takeBack()
  local since, _, endMs, unused = door()
  if not since then return end
  local nowMs = math.floor(serverTime() / 1000)
  -- They may be faster in a race for it. Up to as much again as was due to them costs them nothing.
  local overMs = nowMs - endMs - (endMs - since)
  overMs = endMs > 0 and unused == 0 and math.max(0, math.min(overMs, longestMs)) or 0
  setDoor(nowMs + overMs, 0, 0, endMs > 0 and unused + 1 or unused)
end`;

/** Tells those who sleep for as long as the lock was to be held. Redisson reads it as `0`. */
export const SHORTER = '00';

/**
 * Lua: `shareOfOutsiders()` counts the outsiders that listen, for each process of ours that does. False
 * where Redis does not say, as one node of a Cluster knows only its own. Java services subscribe while
 * a thread of theirs waits.
 */
export const OUTSIDERS = `
local share
local function shareOfOutsiders()
  if share == nil then
    local ears = countBy and redis.pcall('pubsub', countBy, channel, channel .. '${nodesChannel('')}')
    -- Valkey 9.1 answers hundreds of millions while it resizes its table of them.
    local isTold = ears and not ears.err and math.max(ears[2], ears[4]) < ${String(TOO_MANY)}
    share = isTold and math.max(0, ears[2] - ears[4]) / math.max(1, ears[4])
  end
  return share
end`;

/**
 * Lua: `tellShorter(ms)` wakes outsiders that believe that the lock is held for longer. Needs `leftMs`:
 * for how long it was to be held yet.
 */
export const TELL_SHORTER = `
local function tellShorter(ms)
  local isShorter = type(leftMs) == 'number' and (leftMs < 0 or ms < leftMs)
  if isShorter and openEveryMs > 0 and shareOfOutsiders() ~= 0 then announce(channel, '${SHORTER}') end
end`;

/**
 * Lua: `openDoor(since, callers)`, as core/lua/hand-off.ts has it.
 * @param freed Lua that announces that the lock is free
 */
export const openDoor = (freed: string) => `
-- Up to when outsiders may have it, if it is time; or nil.
local function openUntil(since, nowMs, callers, unused)
  -- Later than that only when the clock was set back.
  local isSetBack = since > nowMs + longestMs
  local lastedMs = isSetBack and openEveryMs or math.max(1, nowMs - since)
  local part = (share or 0) * (callers >= ${String(MANY_CALLERS)} and ${String(1 / FAVOUR)} or ${String(FAVOUR)})
  -- Once may be by chance: they had it between two looks.
  part = part / 2 ^ math.max(0, unused - 1)
  if lastedMs * math.max(part, shortestMs / openEveryMs) < shortestMs then return end
  local dueMs = math.floor(math.min(lastedMs * part, longestMs))
  return nowMs + math.max(dueMs, shortestMs)
end
local function openDoor(since, callers)
  if openEveryMs == 0 or shareOfOutsiders() == 0 then return false end
  -- Rounded down, or at once more would be left than can be.
  local nowMs = math.floor(serverTime() / 1000)
  local begun, untilMs, endMs, unused = door()
  unused = unused or 0
  if not isOpen(endMs, nowMs) or untilMs <= nowMs then
    if endMs and endMs > 0 then unused = unused + 1 end
    local first = begun or since and math.floor(since / 1000)
    endMs = first and openUntil(first, nowMs, callers, unused)
    if first and not endMs and not begun then setDoor(first, 0, 0, 0) end
    if not endMs then return false end
  end
  local receivers = ${freed}
  local isHeard = receivers and receivers ~= 0
  untilMs = math.min(nowMs + shortestMs, endMs)
  setDoor(nowMs, isHeard and untilMs or 0, isHeard and endMs or 0, unused)
  return isHeard
end`;
