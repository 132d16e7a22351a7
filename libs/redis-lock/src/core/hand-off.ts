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
/** How long a time to open is known: longer than sections are that make a second of hand-offs. */
const OPENED_TTL_MS = 5_000;
/** Of the dead at the head of the line, one script takes away so many. */
const MOST_SWEPT = 32;
/** A manner is written as its first letter. */
const CLAIM = `'^(%d+) (%x+ %d+ [sep])$'`;
const RECORD = `'^(%d+) (%d+) (%x+) (%d+) ([sep])$'`;

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
if not string.find(claim, ${CLAIM}) then
  return redis.error_reply('LOCKARG claim is none')
end`;

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
end`;

/** Lua: `standInLine(one, claim)`. Whoever stands there already keeps its place. */
export const STAND_IN_LINE = `
local function standInLine(one, claim)
  local process = processOf(one)
  local aliveMs, terms = string.match(claim, ${CLAIM})
  aliveMs = tonumber(aliveMs)
  -- With its memory full Redis remembers nobody: then there is no order, but the lock works.
  local added = redis.pcall('zadd', queue, 'nx', string.format('%.0f', serverTime()), process)
  if type(added) == 'table' then return end
  local aliveUntil = string.format(' %.0f ', serverTime() / 1000 + aliveMs)
  redis.pcall('hset', claims, process, string.sub(one, 38) .. aliveUntil .. terms)
  for _, line in ipairs({ queue, claims }) do
    if redis.call('pttl', line) < aliveMs then redis.pcall('pexpire', line, aliveMs) end
  end
end`;

/** Lua: what is left (ms) of the time in which those in line leave a free lock to others, or nil. */
export const STANDING_BACK = `
local function standingBack()
  local untilMs = tonumber(string.match(redis.call('get', opened) or '', '^%d+ (%d+)$') or '')
  local left = untilMs and math.ceil(untilMs - serverTime() / 1000)
  -- More is left only when the clock was set back.
  return left and left > 0 and left <= ${String(STAND_BACK_MS)} and left
end`;

/**
 * Lua: `openDoor(since)` leaves the lock to those who are in no line, if the last time is long enough
 * ago and somebody hears it; or, if nothing is known of a last time, if somebody has waited for so long.
 * `handOver(from)` makes the process that has waited longest the owner, but not this one. Both answer
 * whether it is so. No time for outsiders at all when `openEveryMs` is 0.
 */
export const HAND_OVER = `
local function isTimeToOpen(since)
  local next = tonumber(string.match(redis.call('get', opened) or '', '^(%d+)') or '')
  if not next then return serverTime() - since >= (openEveryMs - 1) * 1000 end
  local left = next - serverTime() / 1000
  return left <= 0 or left > openEveryMs
end
local function openDoor(since)
  if openEveryMs == 0 then return false end
  local isTime = isTimeToOpen(since)
  if not isTime and redis.call('exists', opened) == 1 then return false end
  local receivers = isTime and announce(channel, '0')
  local isHeard = receivers and receivers ~= 0
  local nowMs = serverTime() / 1000
  local untilMs = isHeard and nowMs + ${String(STAND_BACK_MS)} or 0
  local times = string.format('%.0f %.0f', nowMs + openEveryMs, untilMs)
  redis.pcall('set', opened, times, 'px', ${String(OPENED_TTL_MS)})
  return isHeard
end
local function grant(process, record)
  local number, aliveUntil, nonce, leaseMs, manner = string.match(record, ${RECORD})
  if not manner or tonumber(aliveUntil) * 1000 < serverTime() then return false end
  -- Whom nobody can reach is dead, or asks anew when it is back.
  if manner ~= 'p' then
    local receivers = announce(queue .. ':' .. process, number .. ' ' .. nonce)
    if not receivers or receivers == 0 then return false end
  end
  redis.call('hset', lock, process .. ':' .. number, manner == 's' and 1 or 0)
  local expiry = redis.pcall('pexpire', lock, leaseMs)
  if type(expiry) == 'table' then redis.call('del', lock) end
  return type(expiry) ~= 'table'
end
local function serveLine(from)
  for _ = 1, ${String(MOST_SWEPT)} do
    local process = redis.call('zpopmin', queue)[1]
    if not process then return false end
    local record = redis.call('hget', claims, process)
    redis.call('hdel', claims, process)
    if record and process ~= from and grant(process, record) then return true end
  end
  return false
end
-- A line that cannot be read must not make a release fail that is done.
local function handOver(from)
  local isRead, isGiven = pcall(serveLine, from)
  return isRead and isGiven
end`;
