import type { Claim } from './hold-protocol.js';
import { helperKey } from './key-space.js';

/**
 * Who goes next, among Node processes; Java sees nothing of it. Beside the lock, each with a TTL:
 *
 * - `queue`, process → when it first asked (µs, by the server): the processes that wait, one place for
 *   each, however many callers it has.
 * - `claims`, process → `number aliveUntil nonce leaseMs manner`: what whoever leaves has to know to
 *   make `<process>:<number>` the next owner.
 * - `opened`: lives while it is too early to leave the lock to those who are in no line, as Java
 *   services are. Holds the time (ms) up to which the line stands back for them.
 *
 * A process is told of its grant on the channel `queue:<process>` by `number nonce`.
 */
export const LINE_KEYS = ['queue', 'claims', 'opened'] as const;

/** How long those in line stand back for an outsider that was told that the lock is free. */
export const STAND_BACK_MS = 20;
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
  local untilMs = tonumber(redis.call('get', opened) or '')
  local left = untilMs and math.ceil(untilMs - serverTime() / 1000)
  return left and left > 0 and left
end`;

/**
 * Lua: `openDoor(since)` leaves the lock to those who are in no line, if the last time is long enough
 * ago and somebody hears it; `handOver(from)` makes the process that has waited longest the owner.
 * Both answer whether it is so. No time for outsiders at all when `openEveryMs` is 0.
 */
export const HAND_OVER = `
local function openDoor(since)
  local isTime = openEveryMs > 0 and serverTime() - since >= (openEveryMs - 1) * 1000
  if not isTime or redis.call('exists', opened) == 1 then return false end
  local receivers = announce(channel, '0')
  local isHeard = receivers and receivers ~= 0
  local untilMs = isHeard and serverTime() / 1000 + ${String(STAND_BACK_MS)} or 0
  redis.pcall('set', opened, string.format('%.0f', untilMs), 'px', math.max(openEveryMs, ${String(STAND_BACK_MS)}))
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
  redis.call('pexpire', lock, leaseMs)
  return true
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
end`;
