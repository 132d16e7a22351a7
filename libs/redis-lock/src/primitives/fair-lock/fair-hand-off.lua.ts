import { fragment } from '../lua/fragment.js';
import { giving, HASH_LOCK } from '../lua/hand-off.js';
import { TERMS } from './fair-scores.lua.js';

/** One script tries at most 32 waiters, and then leaves the lock free for the head. */
const MOST_TRIED = 32;

/** Lua that refuses terms that the scripts could not read later. */
export const CHECK_TERMS = fragment('terms', 'grantMs')`
local grantMs = select(2, string.match(terms, ${TERMS}))
if terms ~= '' and (not grantMs or #grantMs > 15) then
  return redis.error_reply('LOCKARG terms are none')
end`;

/**
 * `giveBefore()` hands the free lock over to the first waiter that a message reaches, by `number
 * nonce askedAt` on `channelPrefix:<owner>`. Needs `leftMs`, the PTTL of the lock before its
 * release.
 */
export const GIVE_BEFORE = fragment(
  'announce channelPrefix leftMs lock now queue recordOf remove sweep',
  'give giveBefore giveByMessage giveTo tried',
)`
${giving(HASH_LOCK)}
-- The grant comes before its push, so that the push is always true. A grant without a receiver is
-- taken back.
local function giveTo(waiter, place, record, leaseMs, count, tell)
  if not tried(give, waiter, count, leaseMs) then return false end
  if tell and not tell() then
    redis.call('del', lock)
    return false
  end
  remove(waiter, place, 1, record)
  local head, _, next = sweep()
  -- A Java thread sleeps for the lease that it saw when it looked.
  if head and not next and (leftMs < 0 or tonumber(leaseMs) < leftMs) then announce(channelPrefix .. ':' .. head, '0') end
  return true
end

-- A waiter without a subscription is dead, or sends an attempt when it is connected again. Answers
-- also whether a right is missing, without which nobody can be reached.
local function giveByMessage(waiter, place, record)
  local nonce, leaseMs, mode = string.match(record.terms, ${TERMS})
  local number = string.match(waiter, ':(%d+)$')
  if not mode or not number or record.life.aliveUntil <= now then return false end
  local receivers
  local isGiven = giveTo(waiter, place, record, leaseMs, mode == 's' and '1' or '0', function()
    local push = string.format('%s %s %.0f', number, nonce, record.life.askedAt)
    receivers = announce(channelPrefix .. ':' .. waiter, push)
    return receivers and receivers ~= 0
  end)
  return isGiven, not receivers
end

-- Goes from the head up to the waiter one. Answers whether the lock is given. If nobody before
-- it can be reached, then the place and the record of one, or of the end of the queue. A waiter
-- that could not be reached keeps its place. No waiter overtakes a Java thread, which only Java can
-- wake, nor a waiter without terms.
local function giveBefore(one, waiter, record)
  local place = 0
  while waiter and waiter ~= one do
    if not record or record.terms == '' or place == ${String(MOST_TRIED)} then return false end
    local isGiven, isMute = giveByMessage(waiter, place, record)
    if isGiven or isMute then return isGiven end
    place = place + 1
    waiter = redis.call('lindex', queue, place)
    record = waiter and recordOf(waiter)
  end
  return false, place, waiter and record
end`;

/**
 * `handOn()` hands the free lock over to the head of the queue. A head without terms gets the
 * wake-up `0`. Needs `leftMs`.
 */
export const HAND_ON = fragment(
  'announce channelPrefix leftMs lock now queue recordOf remove sweep',
  'give giveBefore giveByMessage giveTo giveToNext handOn tried',
)`
${GIVE_BEFORE}
local function giveToNext(successor, leaseMs, starts)
  local head, _, record = sweep()
  local isGiven, place, its = giveBefore(successor, head, record)
  if isGiven then return 'done' end
  if its and giveTo(successor, place, its, leaseMs, starts) then return 'passed' end
  -- A successor that has left the queue finds the lock free.
  local receivers = head and announce(channelPrefix .. ':' .. head, '0')
  if successor and (not head or receivers == 0) then return 'yielded' end
  return (not head or receivers) and 'done'
end

-- The release is done by then: a queue that Redis cannot read must not make it fail.
local function handOn(successor, leaseMs, starts)
  return tried(giveToNext, successor, leaseMs, starts) or 'unannounced'
end`;
