import type { Claim } from './hold-protocol.js';
import { helperKey } from './key-space.js';

/**
 * Who goes next, among Node processes; Java sees nothing of it. Beside the lock, each with a TTL:
 *
 * - `queue`, process → when it first asked (µs, by the server): the processes that wait, one place for
 *   each, however many callers it has.
 * - `claims`, process → `number aliveUntil nonce leaseMs manner`: what whoever leaves has to know to
 *   make `<process>:<number>` the next owner.
 * - `opened`, `next until`: when the lock is to be left again to those who are in no line, as Java
 *   services are, and up to when the line stands back for them (ms, by the server).
 *
 * A process is told of its grant on the channel `queue:<process>` by `number nonce`.
 */
export const LINE_KEYS = ['queue', 'claims', 'opened'] as const;

/** How long those in line stand back for an outsider that was told that the lock is free. */
export const STAND_BACK_MS = 20;
/** How long it is known when the lock was left to outsiders, while it is handed on now and then. */
const OPENED_TTL_MS = 3_000;
/** Of the dead at the head of the line, one script takes away so many. */
const MOST_SWEPT = 32;
/** A manner is written as its first letter. */
const CLAIM = `'^([1-9]%d*) (%x+ ([1-9]%d*) [sep])$'`;
const RECORD = `'^(%d+) (%d+) (%x+) ([1-9]%d*) ([sep])$'`;

export function lineKeys(key: string): Record<(typeof LINE_KEYS)[number], string> {
  // With every release: the braces are looked for once.
  const tagged = helperKey('', key);
  return {
    queue: `nestjs_lock_queue${tagged}`,
    claims: `nestjs_lock_claims${tagged}`,
    opened: `nestjs_lock_opened${tagged}`,
  };
}

export function grantChannel(key: string, process: string): string {
  return `${lineKeys(key).queue}:${process}`;
}

/** A claim as the scripts take it. */
export function writtenClaim({ aliveMs, nonce, leaseTimeMs, manner }: Claim): string {
  return `${String(aliveMs)} ${nonce} ${String(leaseTimeMs)} ${manner.charAt(0)}`;
}

/** Lua that refuses a claim that nobody could read later. */
export const CHECK_CLAIM = `
local aliveMs, terms, grantMs = string.match(claim, ${CLAIM})
if not terms or #aliveMs > 15 or #grantMs > 15 then
  return redis.error_reply('LOCKARG claim is none')
end
aliveMs = tonumber(aliveMs)`;

/** Lua that every script of the line begins with. */
export const LINE = `
local now
local function serverTime()
  if not now then
    local time = redis.call('time')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return now
end
local function processOf(one)
  return string.sub(one, 1, 36)
end
-- What cannot be read is no line.
local function leaveLine(process)
  redis.pcall('zrem', queue, process)
  redis.pcall('hdel', claims, process)
end`;

/** Lua: `standInLine(one)`, with the claim. Whoever stands there already keeps its place. */
export const STAND_IN_LINE = `
local function standInLine(one)
  local process = processOf(one)
  -- With its memory full Redis remembers nobody: then there is no order, but the lock works.
  local added = redis.pcall('zadd', queue, 'nx', string.format('%.0f', serverTime()), process)
  if type(added) == 'table' then return end
  local aliveUntil = string.format(' %.0f ', serverTime() / 1000 + aliveMs)
  redis.pcall('hset', claims, process, string.sub(one, 38) .. aliveUntil .. terms)
  for _, line in ipairs({ queue, claims }) do
    local answer = redis.pcall('pttl', line)
    if type(answer) ~= 'table' and answer < aliveMs then
      answer = redis.pcall('pexpire', line, aliveMs)
    end
    -- A user without the right to expire keys must not leave a line that never ends.
    if type(answer) == 'table' then leaveLine(process) end
  end
end`;

/** Lua: what is left (ms) of the time in which those in line leave a free lock to others, or nil. */
export const STANDING_BACK = `
local function standingBack()
  local times = redis.pcall('get', opened)
  local untilMs = type(times) == 'string' and tonumber(string.match(times, '^%d+ (%d+)$') or '')
  local left = untilMs and math.ceil(untilMs - serverTime() / 1000)
  -- More is left only when the clock was set back.
  return left and left > 0 and left <= ${String(STAND_BACK_MS)} and left
end`;

/**
 * Lua: `openDoor(since)` leaves the lock to those who are in no line, if the last time is long enough
 * ago and somebody hears it; or, when no last time is known, if somebody has waited since then for so
 * long. `handOver(from)` makes the process that has waited longest the owner, but not this one. Both
 * answer whether it is so, and are called by `tried(step, value)`. No time for outsiders at all when
 * `openEveryMs` is 0.
 */
export const HAND_OVER = `
local function isTimeToOpen(since)
  local nextMs = tonumber(string.match(redis.call('get', opened) or '', '^(%d+)') or '')
  if not nextMs then return since and serverTime() - since >= (openEveryMs - 1) * 1000, since end
  local left = nextMs - serverTime() / 1000
  -- More is left only when the clock was set back.
  return left <= 0 or left > openEveryMs
end
local function openDoor(since)
  if openEveryMs == 0 then return false end
  local isTime, isFirst = isTimeToOpen(since)
  if not isTime and not isFirst then return false end
  local receivers = isTime and announce(channel, '0')
  local isHeard = receivers and receivers ~= 0
  -- Rounded down, or at once more would be left than can be.
  local nowMs = math.floor(serverTime() / 1000)
  local untilMs = isHeard and nowMs + ${String(STAND_BACK_MS)} or 0
  local times = string.format('%.0f %.0f', nowMs + openEveryMs, untilMs)
  redis.pcall('set', opened, times, 'px', ${String(OPENED_TTL_MS)})
  return isHeard
end
local function grant(process, record)
  local number, aliveUntil, nonce, leaseMs, manner = string.match(record, ${RECORD})
  if not manner or tonumber(aliveUntil) * 1000 < serverTime() then return false end
  redis.call('hset', lock, process .. ':' .. number, manner == 's' and 1 or 0)
  local expiry = redis.pcall('pexpire', lock, leaseMs)
  -- Only what is so is told. Whom nobody can reach is dead, or asks anew when it is back.
  local receivers = type(expiry) ~= 'table'
    and (manner == 'p' or announce(queue .. ':' .. process, number .. ' ' .. nonce))
  if receivers and receivers ~= 0 then return true end
  redis.call('del', lock)
  return false
end
local function handOver(from)
  for _ = 1, ${String(MOST_SWEPT)} do
    local process = redis.call('zpopmin', queue)[1]
    if not process then return false end
    local record = redis.call('hget', claims, process)
    redis.call('hdel', claims, process)
    if record and process ~= from and grant(process, record) then return true end
  end
  return false
end
-- What cannot be done with the line must not make a release fail, which is done by then.
local function tried(step, value)
  local isDone, answer = pcall(step, value)
  return isDone and answer
end`;
