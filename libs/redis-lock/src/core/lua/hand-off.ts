import { CHECK_LEASE } from './hash-lock.js';
import type { Claim, Successor, OwnerId } from '../holding/protocol.js';
import { helperKey, prefixOf } from '../redis/key-names.js';
import { DOOR, OUTSIDERS, openDoor, TELL_SHORTER } from './outsiders.js';

/**
 * Who goes next, among Node processes; Java sees nothing of it. Beside a lock that is handed on, each
 * with a TTL:
 *
 * - `queue`, process → when it first asked (µs, by the server): the processes that wait, one place for
 *   each, however many callers it has.
 * - `claims`, process → `number aliveUntil nonce leaseMs mode`: what whoever leaves has to know to
 *   make `<process>:<number>` the next owner.
 * - `opened`, `since until end unused` (ms, by the server): since when the line has the lock. While it is left
 *   to outsiders, as Java services are: since when, up to when the line stands back for them, and when
 *   their time is over at the latest.
 *
 * A process is told of its grant on the channel `queue:<process>` by `number nonce`.
 */
export const LINE_KEYS = ['queue', 'claims', 'opened'] as const;

/** Kinds of locks have lines of their own: nobody is handed what he has not asked for. */
export type LineKind = 'lock' | 'rwlock';

/** How a kind of lock is written that is handed on: a hash with a field for its owner. */
export interface HandedLock {
  /** Lua: the field of the owner in this local. */
  readonly field: (owner: string) => string;
  /** Lua: what HSET writes beside the owner, each followed by a comma. */
  readonly beside: string;
  /** Lua that announces that it is free. */
  readonly freed: string;
  /** Lua that follows when it was given to the owner in the local `one`; must not fail. */
  readonly onGiven: string;
  /** Lua that follows when the owner in the local `successor` stands in line; must not fail. */
  readonly onWaiting: string;
}

/** As Redisson's RLock and RFairLock are, core/lua/hash-lock.ts. */
export const HASH_LOCK: HandedLock = {
  field: (owner) => owner,
  beside: '',
  freed: `announce(channel, '0')`,
  onGiven: '',
  onWaiting: '',
};

/** Of the dead at the head of the line, one script takes away so many. */
const MOST_SWEPT = 32;
/** A mode is written as its first letter. */
const CLAIM = `'^([1-9]%d*) (%x+ ([1-9]%d*) [sep])$'`;
const RECORD = `'^(%d+) (%d+) (%x+) ([1-9]%d*) ([sep])$'`;

/** The commands of the scripts of a line, beside those of its lock. */
export const LINE_COMMANDS = [
  'hdel',
  'pubsub|numsub',
  'zadd',
  'zpopmin',
  'zrange',
  'zrem',
] as const;

export function lineKeys(
  key: string,
  kind: LineKind = 'lock',
): Record<(typeof LINE_KEYS)[number], string> {
  // With every release: the braces are looked for once.
  const tagged = helperKey('', key);
  return {
    queue: `nestjs_${kind}_queue${tagged}`,
    claims: `nestjs_${kind}_claims${tagged}`,
    opened: `nestjs_${kind}_opened${tagged}`,
  };
}

/** The beginnings of the keys of a line, and of the channels of its grants. */
export function linePrefixes(kind: LineKind): { keys: string[]; channels: string[] } {
  const prefixes = LINE_KEYS.map((of) => prefixOf(`nestjs_${kind}_${of}`));
  return { keys: prefixes, channels: prefixes.slice(0, 1) };
}

export function grantChannel(key: string, process: string, kind?: LineKind): string {
  return `${lineKeys(key, kind).queue}:${process}`;
}

/** A claim as the scripts take it. */
export function writtenClaim(claim: Claim): string {
  return `${String(claim.aliveMs)} ${writtenTerms(claim)}`;
}

/** How a grant by a claim is made. */
export function writtenTerms({ nonce, leaseTimeMs, mode }: Claim): string {
  return `${nonce} ${String(leaseTimeMs)} ${mode.charAt(0)}`;
}

/** The arguments of a script that makes the successor the next owner. */
export const PASS_ARGS = ['owner', 'successor', 'leaseMs', 'starts'] as const;

export function passArgs(owner: OwnerId, successor: Successor): (string | number)[] {
  const { owner: next, leaseTimeMs, mode } = successor;
  return [owner, next, leaseTimeMs, mode === 'start' ? 1 : 0];
}

/** The arguments of a script by which others may go first, and the successor stands in line. */
export const PASS_IN_ORDER_ARGS = [
  ...PASS_ARGS,
  ...(['channel', 'claim', 'waitedMs', 'callers', 'openEveryMs'] as const),
] as const;

export function passInOrderArgs(
  owner: OwnerId,
  successor: Successor,
  claim: Claim,
  { channel, openEveryMs }: { readonly channel: string; readonly openEveryMs: number },
): (string | number)[] {
  const waitedMs = Math.round(successor.waitedMs);
  const args = passArgs(owner, successor);
  return [...args, channel, writtenClaim(claim), waitedMs, successor.callers, openEveryMs];
}

/** Lua that refuses a claim that nobody could read later. */
export const CHECK_CLAIM = `
local aliveMs, terms, grantMs = string.match(claim, ${CLAIM})
if not terms or #aliveMs > 15 or #grantMs > 15 then
  return redis.error_reply('LOCKARG claim is none')
end
aliveMs = tonumber(aliveMs)`;

/**
 * Lua that ends the release of a lock for a successor, when it is not the owner's.
 * @param held Lua that says whether it is
 */
export const refuseAbsent = ({ field }: HandedLock, held = `redis.call('hget', lock, owner)`) => `
${CHECK_LEASE}
if starts ~= '0' and starts ~= '1' then
  return redis.error_reply('LOCKARG starts is neither 0 nor 1')
end
if not ${held} then
  -- By this script, when it was delivered before, or in another way: for how long, nobody knows.
  return redis.call('hexists', lock, ${field('successor')}) == 1 and 'had' or 'absent'
end`;

/** Lua: `serverTime()` in µs, of the moment at which the script looks for the first time. */
export const SERVER_TIME = `
local now
local function serverTime()
  if not now then
    local time = redis.call('time')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return now
end`;

/** Lua that every script of the line begins with, behind `SERVER_TIME`. */
export const LINE = `
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

/**
 * Lua: `give(one, count, ms)` makes this owner the next one of a free lock, and answers whether it is.
 * `tried(step, …)` answers no, instead of failing.
 */
export const giving = ({ field, beside, onGiven }: HandedLock) => `
local function give(one, count, ms)
  redis.call('hset', lock, ${beside}${field('one')}, count)
  local expiry = redis.pcall('pexpire', lock, ms)
  -- A user without the right to expire keys must not leave a lock that never ends.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return false
  end
  ${onGiven}
  return true
end
-- What cannot be done with the line must not make a release fail, which is done by then.
local function tried(step, ...)
  local isDone, answer = pcall(step, ...)
  return isDone and answer
end`;

/**
 * Lua: `leavePlace(one)` takes away the place in line, if it is that of this owner and not of another
 * caller by now. With `hadIt` also that of one before it: a process serves its callers in order, so
 * whoever has had the lock waits no more, and nobody who came before.
 */
export const LEAVE_PLACE = `
local function leavePlace(one, hadIt)
  local process = processOf(one)
  local record = redis.pcall('hget', claims, process)
  local number = type(record) == 'string' and tonumber(string.match(record, '^%d+') or '')
  local own = tonumber(string.sub(one, 38))
  if number and own and (number == own or hadIt and number < own) then leaveLine(process) end
end`;

/**
 * Lua: `openDoor(since, callers)` leaves the lock to outsiders if it is their time, never when
 * `openEveryMs` is 0. The line has had it since `opened` says so, or else `since`, which may be nil;
 * `callers` of this process wait. `handOver(from)` makes the process that has waited longest the owner,
 * but not `from`. Both answer whether it is so, and are called by `tried`. Needs `leftMs`, of the lock
 * that was freed.
 */
export const handOver = (kind: HandedLock) => `
${giving(kind)}
${OUTSIDERS}
${TELL_SHORTER}
${DOOR}
${openDoor(kind.freed)}
local function grant(process, record)
  local number, aliveUntil, nonce, grantMs, mode = string.match(record, ${RECORD})
  if not mode or tonumber(aliveUntil) * 1000 < serverTime() then return false end
  if not give(process .. ':' .. number, mode == 's' and '1' or '0', grantMs) then return false end
  -- Only what is so is told. Whom nobody can reach is dead, or asks anew when it is back.
  local receivers = mode == 'p' or announce(queue .. ':' .. process, number .. ' ' .. nonce)
  if receivers and receivers ~= 0 then
    tellShorter(tonumber(grantMs))
    return true
  end
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
end`;

const announced = ({ freed }: HandedLock) => `return ${freed} and 'done' or 'unannounced'`;

/** Lua: whether nobody waits in line, and for how long the lock is to be held yet otherwise. */
export const LOOK_AT_LINE = `
-- A line that cannot be read must not make a release fail.
local lines = redis.pcall('exists', queue, opened)
local isAlone = type(lines) == 'table' or lines == 0
local leftMs = not isAlone and redis.pcall('pttl', lock)`;

/** Lua that ends a release behind `LOOK_AT_LINE`: most often the rest need not run. */
export const announceUncontended = (kind: HandedLock) => `
if isAlone then
  ${announced(kind)}
end`;

/**
 * Lua that ends a release behind `announceUncontended`, `LEAVE_PLACE` and `handOver`: what is free by
 * now is left to outsiders, given to the process that has waited longest, or announced.
 */
export const handOverOrAnnounce = (kind: HandedLock) => `
leavePlace(owner, true)
local since = tonumber(redis.pcall('zrange', queue, 0, 0, 'withscores')[2] or '')
if tried(openDoor, since, 0) then return 'opened' end
if since and tried(handOver) then return 'done' end
${announced(kind)}`;

/**
 * Lua that ends a release with a successor, who stands in line if others go first. The successor has waited from
 * `since` on, among so many `callers`.
 */
export const takeTurns = ({ onWaiting }: HandedLock) => `
local isOpened = tried(openDoor, since, callers)
if isOpened or tried(handOver, processOf(owner)) then
  standInLine(successor)
  ${onWaiting}
  return isOpened and 'opened' or 'done'
end
if not tried(give, successor, starts, leaseMs) then return 'unannounced' end
tellShorter(tonumber(leaseMs))
return 'passed'`;

/**
 * Lua that ends a release with a successor: what is this owner's becomes the successor's, for one that enters by
 * itself with the count that says that it has not yet. Where the user lacks a right for that, the
 * release is done all the same.
 */
export const passOn = ({ field }: HandedLock) => `
-- At no moment without a field: on its way to another node, a slot takes no key back. And the lease
-- first: with its memory full, Redis refuses only a first write.
redis.call('pexpire', lock, leaseMs)
local counted = redis.pcall('hset', lock, ${field('successor')}, starts)
local left = redis.pcall('hdel', lock, ${field('owner')})
if type(counted) == 'table' or type(left) == 'table' then
  redis.call('del', lock)
  return 'unannounced'
end
return 'passed'`;
