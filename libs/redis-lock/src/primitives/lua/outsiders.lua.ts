import { nodesChannel } from '../../core/redis/key-names.js';
import { SHORTER, STAND_BACK_MS } from '../../core/waiting/outsiders.js';

/**
 * The share of outsiders, such as Java services, which queue nowhere. They race for a free lock,
 * and a lock that is handed over is never free. So the queue leaves the lock to them in windows,
 * and stands back while they use a window. A window lasts as long as the queue has held the lock ×
 * listening outsiders ÷ listening Node processes.
 */

/** The longest window of outsiders, however long the queue has held the lock. */
export const LONGEST_OPEN_MS = 1_000;
/**
 * Redis does not know how many threads of an outsider wait. With few callers, an outsider counts as
 * 1.5 Node processes. With 8 or more, it counts as 1 ÷ 1.5 of one. So each side gets at least half
 * of its share of the callers.
 */
export const FAVOUR = 1.5;
export const MANY_CALLERS = 8;
/** How long `opened` outlasts the last write to it. */
const OPENED_TTL_MS = 3_000;
/** More clients than any server has. */
const TOO_MANY = 1_000_000;

/** Lua: reads and writes `opened`. No error of it makes a script fail. */
export const WINDOW = `
local shortestMs, longestMs = ${String(STAND_BACK_MS)}, ${String(LONGEST_OPEN_MS)}
local function window()
  local times = redis.pcall('get', opened)
  local pattern = '^(%d+) (%d+) (%d+) (%d+)$'
  local since, untilMs, endMs, unused = string.match(type(times) == 'string' and times or '', pattern)
  return tonumber(since), tonumber(untilMs), tonumber(endMs), tonumber(unused)
end
local function setWindow(since, untilMs, endMs, unused)
  local times = string.format('%.0f %.0f %.0f %.0f', since, untilMs, endMs, unused)
  redis.pcall('set', opened, times, 'px', ${String(OPENED_TTL_MS)})
end
local function isOpen(endMs, nowMs)
  -- More is left only when the clock was set back.
  return endMs and endMs > nowMs and endMs - nowMs <= longestMs
end`;

/**
 * Lua: `standingBack(isHeld)` returns how long (ms) the queue stands back for outsiders, or nil. An
 * outsider that holds the lock prolongs that within its window. `takeBack()` ends the window.
 */
export const STANDING_BACK = `
${WINDOW}
local function standingBack(isHeld)
  local since, untilMs, endMs = window()
  local nowMs = serverTime() / 1000
  if not isOpen(endMs, nowMs) then return end
  if isHeld then
    untilMs = math.min(math.floor(nowMs) + shortestMs, endMs)
    setWindow(since, untilMs, endMs, 0)
  end
  local left = math.ceil(untilMs - nowMs)
  return left > 0 and left <= shortestMs and left or nil
end
local function takeBack()
  local since, _, endMs, unused = window()
  if not since then return end
  local nowMs = math.floor(serverTime() / 1000)
  -- Outsiders may win the race for the lock after their window, too. The length of the window once
  -- more is free; use beyond that delays their next window.
  local overMs = nowMs - endMs - (endMs - since)
  overMs = endMs > 0 and unused == 0 and math.max(0, math.min(overMs, longestMs)) or 0
  setWindow(nowMs + overMs, 0, 0, endMs > 0 and unused + 1 or unused)
end`;

/**
 * Lua: `share` is listening outsiders ÷ listening processes of this library. False if Redis cannot
 * count them: a node of a Cluster knows only its own. Java services subscribe while one of their
 * threads waits. `tellShorter(ms)` wakes outsiders that wait for a longer lease than this one.
 * Needs `isAlone`: the queue is empty.
 */
export const OUTSIDERS = `
local share = 0
if not isAlone and openEveryMs > 0 then
  local ears = countBy and redis.pcall('pubsub', countBy, channel, channel .. '${nodesChannel('')}')
  -- Valkey 9.1 answers hundreds of millions while it resizes its table of subscribers.
  local isTold = ears and not ears.err and math.max(ears[2], ears[4]) < ${String(TOO_MANY)}
  share = isTold and math.max(0, ears[2] - ears[4]) / math.max(1, ears[4])
end
local leftMs = share ~= 0 and redis.pcall('pttl', lock)
local function tellShorter(ms)
  if type(leftMs) == 'number' and (leftMs < 0 or ms < leftMs) then announce(channel, '${SHORTER}') end
end`;

/**
 * Lua: `openWindow(since, callers)`, primitives/lua/hand-off.ts.
 * @param freed Lua that announces that the lock is free
 */
export const openWindow = (freed: string) => `
-- The end of the window of outsiders, or nil if they are not due.
local function openUntil(since, nowMs, callers, unused)
  -- Later than that only when the clock was set back.
  local isSetBack = since > nowMs + longestMs
  local lastedMs = isSetBack and openEveryMs or math.max(1, nowMs - since)
  local part = (share or 0) * (callers >= ${String(MANY_CALLERS)} and ${String(1 / FAVOUR)} or ${String(FAVOUR)})
  -- Outsiders may leave one window unused by chance: they held the lock between two looks.
  part = part / 2 ^ math.max(0, unused - 1)
  if lastedMs * math.max(part, shortestMs / openEveryMs) < shortestMs then return end
  local dueMs = math.floor(math.min(lastedMs * part, longestMs))
  return nowMs + math.max(dueMs, shortestMs)
end
local function openWindow(since, callers)
  if share == 0 then return false end
  -- Rounded down: otherwise the window would last longer than shortestMs, which standingBack
  -- refuses.
  local nowMs = math.floor(serverTime() / 1000)
  local begun, untilMs, endMs, unused = window()
  unused = unused or 0
  if not isOpen(endMs, nowMs) or untilMs <= nowMs then
    if endMs and endMs > 0 then unused = unused + 1 end
    if not begun then
      since = since or tonumber(redis.pcall('zrange', queue, 0, 0, 'withscores')[2] or '')
    end
    local first = begun or since and math.floor(since / 1000)
    endMs = first and openUntil(first, nowMs, callers, unused)
    if first and not endMs and not begun then setWindow(first, 0, 0, 0) end
    if not endMs then return false end
  end
  local receivers = ${freed}
  local isHeard = receivers and receivers ~= 0
  untilMs = math.min(nowMs + shortestMs, endMs)
  setWindow(nowMs, isHeard and untilMs or 0, isHeard and endMs or 0, unused)
  return isHeard
end`;
