import { fragment } from './fragment.js';
import { DONE } from './answers.js';
import { CHECK_LEASE } from './hash-lock.js';
import type { Claim, Successor, OwnerId } from '../../core/holding/protocol.js';
import { helperKey, prefixOf } from '../../core/redis/key-names.js';
import { openWindow, OUTSIDERS, WINDOW } from './outsiders.lua.js';

/**
 * The keys that Node processes use to hand a lock over to each other. Java does not read them. Each
 * has a TTL:
 *
 * - `queue`, process → when it first tried (µs, by the server): the waiting processes. A process
 *   has one entry, for all of its callers.
 * - `claims`, process → `number aliveUntil nonce leaseMs mode`. By this claim a release makes
 *   `<process>:<number>` the next owner.
 * - `opened`, `until sections unused` (`until` in ms, by the server): a window of outsiders, such as
 *   Java services, with its latest end. With 0 sections it is none, and none begins until
 *   then. Below 0, outsiders got so many sections too many.
 *
 * A push to a process is `number nonce` on the channel `queue:<process>`.
 */
export const QUEUE_KEYS = ['queue', 'claims', 'opened'] as const;

/** Each kind of lock has its own queue: a release grants only that kind. */
export type QueueKind = 'lock' | 'rwlock';

/** How a kind of lock is written: a hash with a field for its owner. */
export interface HandedLock {
  /** Lua: the field of the owner in this local. */
  readonly field: (owner: string) => string;
  /** Lua: the further arguments of HSET, each followed by a comma. */
  readonly beside: string;
  /** Lua that announces that the lock is free. */
  readonly freed: string;
  /** Lua that runs when the owner in the local `one` has received the lock. Must not fail. */
  readonly onGiven: string;
  /** Lua that runs when the owner in the local `successor` has joined the queue. Must not fail. */
  readonly onWaiting: string;
}

/** Redisson's RLock and RFairLock, primitives/lua/hash-lock.ts. */
export const HASH_LOCK: HandedLock = {
  field: (owner) => owner,
  beside: '',
  freed: `announce(channel, '0')`,
  onGiven: '',
  onWaiting: '',
};

/** One script removes at most 32 dead processes from the head of the queue. */
const MOST_SWEPT = 32;
/** A mode is written as its first letter. */
const CLAIM = `'^([1-9]%d*) (%d+) (%d+) (%x+ ([1-9]%d*) [sep])$'`;
const RECORD = `'^(%d+) (%d+) (%x+) ([1-9]%d*) ([sep])$'`;

/** The commands that the scripts of a queue need, beside those of the lock. */
export const QUEUE_COMMANDS = ['hdel', 'pubsub|numsub', 'zadd', 'zpopmin', 'zrem'] as const;

export function queueKeys(
  key: string,
  kind: QueueKind = 'lock',
): Record<(typeof QUEUE_KEYS)[number], string> {
  // Every release runs this, so it searches for the braces only once.
  const tagged = helperKey('', key);
  return {
    queue: `nestjs_${kind}_queue${tagged}`,
    claims: `nestjs_${kind}_claims${tagged}`,
    opened: `nestjs_${kind}_opened${tagged}`,
  };
}

/** The prefixes of the keys of a queue, and of the channels of its pushes. */
export function queuePrefixes(kind: QueueKind): { keys: string[]; channels: string[] } {
  const prefixes = QUEUE_KEYS.map((of) => prefixOf(`nestjs_${kind}_${of}`));
  return { keys: prefixes, channels: prefixes.slice(0, 1) };
}

export function grantChannel(key: string, process: string, kind?: QueueKind): string {
  return `${queueKeys(key, kind).queue}:${process}`;
}

/** A claim in the form that the scripts take. */
export function writtenClaim(claim: Claim): string {
  return `${String(claim.aliveMs)} ${String(claim.past ?? 0)} ${String(claim.ended ?? 0)} ${writtenTerms(claim)}`;
}

/** The terms of a grant by this claim. */
export function writtenTerms({ nonce, leaseTimeMs, mode }: Claim): string {
  return `${nonce} ${String(leaseTimeMs)} ${mode.charAt(0)}`;
}

/** The arguments of a script that makes the successor the next owner. */
export const PASS_ARGS = ['owner', 'successor', 'leaseMs', 'starts'] as const;

export function passArgs(owner: OwnerId, successor: Successor): (string | number)[] {
  const { owner: next, leaseTimeMs, mode } = successor;
  return [owner, next, leaseTimeMs, mode === 'start' ? 1 : 0];
}

/** The arguments of a script that may grant other processes first, and queues the successor. */
export const PASS_IN_ORDER_ARGS = [
  ...PASS_ARGS,
  ...(['channel', 'claim', 'due'] as const),
] as const;

export function passInOrderArgs(
  owner: OwnerId,
  successor: Successor,
  claim: Claim,
  { channel, due }: { readonly channel: string; readonly due: number },
): (string | number)[] {
  return [...passArgs(owner, successor), channel, writtenClaim(claim), due];
}

/** Lua that refuses a claim that the scripts could not read later. */
export const CHECK_CLAIM = fragment('claim', 'aliveMs ended grantMs past terms')`
local aliveMs, past, ended, terms, grantMs = string.match(claim, ${CLAIM})
if not terms or #aliveMs > 15 or #past > 15 or #ended > 15 or #grantMs > 15 then
  return redis.error_reply('LOCKARG claim is none')
end
aliveMs, past, ended = tonumber(aliveMs), tonumber(past), tonumber(ended)`;

/**
 * Lua that ends a release with a successor if the owner does not hold the lock.
 * @param held Lua: whether the owner holds it
 */
export const refuseAbsent = ({ field }: HandedLock, held = `redis.call('hget', lock, owner)`) =>
  fragment('leaseMs lock starts successor', '', `local _ = ${held}`)`
${CHECK_LEASE}
if starts ~= '0' and starts ~= '1' then
  return redis.error_reply('LOCKARG starts is neither 0 nor 1')
end
if not ${held} then
  -- The successor may hold the lock already: Redis got this script twice, or another script passed
  -- the lock on. The time of that grant is unknown.
  return redis.call('hexists', lock, ${field('successor')}) == 1 and 'had' or 'absent'
end`;

/** Lua: `serverTime()` in µs: the time of its first call in the script. */
export const SERVER_TIME = fragment('', 'now serverTime')`
local now
local function serverTime()
  if not now then
    local time = redis.call('time')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  end
  return now
end`;

/** Lua at the beginning of every script of the queue, behind `SERVER_TIME`. */
export const QUEUE = fragment('claims queue', 'processOf removeProcess')`
local function processOf(one)
  return string.sub(one, 1, 36)
end
-- An entry that Redis cannot read counts as none.
local function removeProcess(process)
  redis.pcall('zrem', queue, process)
  redis.pcall('hdel', claims, process)
end`;

/**
 * Lua: `joinQueue(one)` queues the process of this owner, with its claim. A process that is queued
 * keeps its place.
 */
export const JOIN_QUEUE = fragment(
  'aliveMs claims processOf queue removeProcess serverTime terms',
  'joinQueue',
)`
local function joinQueue(one)
  local process = processOf(one)
  -- With its memory full Redis keeps no entry: there is no order then, but the lock works.
  -- LT: after the clock was set back, no process waits behind all that come later.
  local added = redis.pcall('zadd', queue, 'lt', string.format('%.0f', serverTime()), process)
  if type(added) == 'table' then return end
  local aliveUntil = string.format(' %.0f ', serverTime() / 1000 + aliveMs)
  redis.pcall('hset', claims, process, string.sub(one, 38) .. aliveUntil .. terms)
  for _, key in ipairs({ queue, claims }) do
    local answer = redis.pcall('pttl', key)
    if type(answer) ~= 'table' and answer < aliveMs then
      answer = redis.pcall('pexpire', key, aliveMs)
    end
    -- A user without the right to expire keys must not leave a queue that never expires.
    if type(answer) == 'table' then removeProcess(process) end
  end
end`;

/**
 * Lua: `give(one, count, ms)` makes this owner the next one of a free lock. It returns whether it
 * has. `tried(step, …)` returns false if the step fails.
 */
export const giving = ({ field, beside, onGiven }: HandedLock) =>
  fragment('lock', 'give tried', onGiven)`
local function give(one, count, ms)
  redis.call('hset', lock, ${beside}${field('one')}, count)
  local expiry = redis.pcall('pexpire', lock, ms)
  -- A user without the right to expire keys must not leave a lock that never expires.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return false
  end
  ${onGiven}
  return true
end
-- The release is done by then: an error of the queue must not make it fail.
local function tried(step, ...)
  local isDone, answer = pcall(step, ...)
  return isDone and answer
end`;

/**
 * Lua: `leaveQueue(one)` removes the claim of this owner's process, unless it names another owner
 * by now. With `hadIt` it also removes a claim that names an older owner. A process serves its
 * callers in order. Once an owner has held the lock, neither it nor an older one waits.
 */
export const LEAVE_QUEUE = fragment('claims processOf removeProcess', 'leaveQueue')`
local function leaveQueue(one, hadIt)
  local process = processOf(one)
  local record = redis.pcall('hget', claims, process)
  local number = type(record) == 'string' and tonumber(string.match(record, '^%d+') or '')
  local own = tonumber(string.sub(one, 38))
  if number and own and (number == own or hadIt and number < own) then removeProcess(process) end
end`;

/**
 * Lua: `openWindow()` leaves the lock to outsiders for `due` sections, if some listen, and never
 * with a `due` of zero. `reached` is the number of clients that the announcement of the
 * free lock has reached, if there was one already.
 *
 * `handOver(from)` makes the process that has waited longest the owner, except `from`. Both return
 * whether they did it, and need `tried` around them. The lock must not be released yet. Without the
 * right to publish, the process finds its grant by a poll: `isUntold`.
 */
export const handOver = (kind: HandedLock) =>
  fragment(
    'announce channel claims countBy due isUnawaited lock opened queue reached serverTime',
    'countOutsiders give grant handOver isUntold leftMs longestMs openWindow outsiders setWindow tellShorter tried window',
    `local _ = ${kind.freed}\n${kind.onGiven}`,
  )`
${giving(kind)}
${OUTSIDERS}
${WINDOW}
${openWindow(kind.freed)}
local isUntold = false
local function grant(process, record)
  local number, aliveUntil, nonce, grantMs, mode = string.match(record, ${RECORD})
  if not mode or tonumber(aliveUntil) * 1000 < serverTime() then return false end
  if not give(process .. ':' .. number, mode == 's' and '1' or '0', grantMs) then return false end
  -- The push follows the grant, so that it is always true. A process without a subscription is
  -- dead, or tries again when it is connected.
  local receivers = mode == 'p' or announce(queue .. ':' .. process, number .. ' ' .. nonce)
  if receivers ~= 0 then
    isUntold = not receivers
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

/** Lua: whether the queue is empty. */
export const LOOK_AT_QUEUE = fragment('opened queue', 'found isUnawaited reached')`
local reached
-- A queue that Redis cannot read must not make a release fail.
local found = redis.pcall('exists', queue, opened)
local isUnawaited = type(found) == 'table' or found == 0`;

/**
 * Lua that ends a release behind `LOOK_AT_QUEUE`. Most releases end here, which saves the rest. It
 * goes on if a client listens, which may be an outsider.
 * @param free Lua that frees the lock, if that is not done yet
 */
export const announceUncontended = ({ freed }: HandedLock, free = '') =>
  fragment('countBy due isUnawaited reached', '', `local _ = ${freed}\n${free}`)`
if isUnawaited then
  ${free}
  reached = ${freed}
  if not reached or reached == 0 or due == 0 or not countBy then
    return reached and ${String(DONE)} or 'unannounced'
  end
end`;

/**
 * Lua that ends a release behind `announceUncontended`, `LEAVE_QUEUE` and `handOver`. It leaves the
 * free lock to outsiders, hands it over to the process that has waited longest, or announces it.
 */
export const handOverOrAnnounce = ({ freed }: HandedLock) =>
  fragment(
    'countOutsiders handOver isUnawaited isUntold leaveQueue openWindow outsiders owner reached tried',
    '',
    `local _ = ${freed}`,
  )`
if isUnawaited then
  countOutsiders()
  if outsiders == 0 then return ${String(DONE)} end
end
leaveQueue(owner, true)
if tried(openWindow) then return 'reserved' end
if tried(handOver) then return isUntold and 'unannounced' or 'done' end
return (reached or ${freed}) and ${String(DONE)} or 'unannounced'`;

/**
 * Lua that ends a release with a successor, which joins the queue if others go first.
 */
export const passInOrder = ({ onWaiting }: HandedLock) =>
  fragment(
    'give handOver isUntold joinQueue leaseMs openWindow owner processOf starts successor tellShorter tried',
    'isReserved',
    onWaiting,
  )`
local isReserved = tried(openWindow)
if isReserved or tried(handOver, processOf(owner)) then
  joinQueue(successor)
  ${onWaiting}
  return isReserved and 'reserved' or isUntold and 'unannounced' or 'done'
end
if not tried(give, successor, starts, leaseMs) then return 'unannounced' end
tellShorter(tonumber(leaseMs))
return 'passed'`;

/**
 * Lua that ends a release with a successor: the owner's field becomes the successor's. `starts` is
 * the hold count: 0 for a successor that still runs its own acquire. A user without the rights for
 * that still releases the lock.
 */
export const passOn = ({ field }: HandedLock) =>
  fragment('leaseMs lock owner starts successor', 'counted left')`
-- The hash is never empty: a slot that is on its way to another node takes no deleted key back.
-- The lease comes first: with its memory full, Redis refuses only a first write.
redis.call('pexpire', lock, leaseMs)
local counted = redis.pcall('hset', lock, ${field('successor')}, starts)
local left = redis.pcall('hdel', lock, ${field('owner')})
if type(counted) == 'table' or type(left) == 'table' then
  redis.call('del', lock)
  return 'unannounced'
end
return 'passed'`;
