import { fragment } from './fragment.js';
import { nodesChannel } from '../../core/redis/key-names.js';
import { SHORTER, STAND_BACK_MS } from '../../core/waiting/outsiders.js';

/**
 * The share of outsiders, such as Java services, which queue nowhere. They race for a free lock,
 * and a lock that is handed over is never free. So after a batch, the queue leaves the lock to them
 * for about as many sections. Redis cannot count these: the waiting processes do, by the messages of
 * the releases. The first that has stood back for the whole window takes the lock back.
 */

/** The longest window of outsiders. */
export const LONGEST_OPEN_MS = 1_000;
/** How long `opened` outlasts the last write to it. */
const OPENED_TTL_MS = 3_000;
/** After so many unused windows in a row, the next one begins a second later. */
const MOST_UNUSED = 6;
/**
 * The queue works off so many sections of outsiders at most. Without that, 100 Node callers beside
 * four Java threads get less than half of their share: `npm run interop -- share`.
 */
const MOST_OWED = 64;
/** More clients than any server has. */
const TOO_MANY = 1_000_000;

/**
 * Lua: reads and writes `opened`. No error of it makes a script fail. Without an end that is still
 * to come, `untilMs` is nil.
 */
export const WINDOW = fragment('opened serverTime', 'longestMs setWindow window')`
local longestMs = ${String(LONGEST_OPEN_MS)}
local function window()
  local nowMs = math.floor(serverTime() / 1000)
  local written = redis.pcall('get', opened)
  local pattern = '^(%d+) (%-?%d+) (%d+)$'
  local untilMs, sections, unused = string.match(type(written) == 'string' and written or '', pattern)
  untilMs = tonumber(untilMs)
  -- More is left only when the clock was set back.
  if untilMs and (untilMs <= nowMs or untilMs - nowMs > longestMs) then untilMs = nil end
  return nowMs, untilMs, tonumber(sections), tonumber(unused)
end
local function setWindow(untilMs, sections, unused)
  local written = string.format('%.0f %.0f %.0f', untilMs, sections, unused)
  redis.pcall('set', opened, written, 'px', ${String(OPENED_TTL_MS)})
end`;

/**
 * Lua: `standingBack(isHeld)` returns the window for which this process has to stand back: its end
 * and its sections. `takeBack()` ends the window. Needs `past` and `ended` of the claim.
 */
export const STANDING_BACK = fragment(
  'ended opened past serverTime',
  'longestMs setWindow shortestMs standingBack takeBack window',
)`
${WINDOW}
local shortestMs = ${String(STAND_BACK_MS)}
local function standingBack(isHeld)
  local _, untilMs, sections, unused = window()
  if not untilMs or sections <= 0 then return end
  if isHeld and unused > 0 then setWindow(untilMs, sections, 0) end
  if isHeld or past ~= untilMs then return untilMs, sections end
end
local function takeBack()
  local nowMs, untilMs, sections, unused = window()
  if not untilMs or sections <= 0 then return end
  if unused == 0 or ended > 0 then
    -- They often win the race for the lock at the end of their window, too.
    setWindow(nowMs, math.max(sections - ended, -${String(MOST_OWED)}), 0)
  else
    setWindow(nowMs + math.min(shortestMs * 2 ^ unused, longestMs), 0, unused)
  end
end`;

/**
 * Lua: `outsiders` is the number of outsiders that listen. False if Redis cannot count them: a node
 * of a Cluster knows only its own. Java services subscribe while one of their threads waits.
 * `tellShorter(ms)` wakes outsiders that wait for a longer lease than this one. Needs `isUnawaited`:
 * the queue is empty.
 */
export const OUTSIDERS = fragment(
  'announce channel countBy due isUnawaited lock',
  'countOutsiders leftMs outsiders tellShorter',
)`
local outsiders = 0
local function countOutsiders()
  local ears = countBy and redis.pcall('pubsub', countBy, channel, channel .. '${nodesChannel('')}')
  -- Valkey 9.1 answers hundreds of millions while it resizes its table of subscribers.
  local isTold = ears and not ears.err and math.max(ears[2], ears[4]) < ${String(TOO_MANY)}
  outsiders = isTold and math.max(0, ears[2] - ears[4])
end
if not isUnawaited and due > 0 then countOutsiders() end
local leftMs = outsiders ~= 0 and redis.pcall('pttl', lock)
local function tellShorter(ms)
  if type(leftMs) == 'number' and (leftMs < 0 or ms < leftMs) then announce(channel, '${SHORTER}') end
end`;

/**
 * Lua: `openWindow()`, primitives/lua/hand-off.ts.
 * @param freed Lua that announces that the lock is free
 */
export const openWindow = (freed: string) =>
  fragment('due longestMs outsiders reached setWindow window', 'openWindow', `local _ = ${freed}`)`
local function openWindow()
  if outsiders == 0 then return false end
  local nowMs, untilMs, sections, unused = window()
  if untilMs and sections <= 0 then return false end
  if not unused and not outsiders then
    setWindow(nowMs + longestMs, 0, ${String(MOST_UNUSED)})
    return false
  end
  local owed = due + math.min(not untilMs and sections or 0, 0)
  if owed <= 0 then
    setWindow(nowMs, owed, 0)
    return false
  end
  reached = reached or ${freed}
  if not reached or reached == 0 then return false end
  -- A first attempt may have taken the lock within their window.
  if not untilMs then
    untilMs, sections, unused = nowMs + longestMs, owed, (unused or 0) + 1
  end
  setWindow(untilMs, sections, unused)
  return true
end`;
