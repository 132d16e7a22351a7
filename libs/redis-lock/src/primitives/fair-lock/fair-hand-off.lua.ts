import { giving, HASH_LOCK } from '../lua/hand-off.js';
import { TERMS } from './fair-scores.lua.js';

/** One script tries at most 32 waiters, and then leaves the lock free for the head. */
const MOST_TRIED = 32;

/** Lua that refuses terms that the scripts could not read later. */
export const CHECK_TERMS = `
local grantMs = select(2, string.match(terms, ${TERMS}))
if terms ~= '' and (not grantMs or #grantMs > 15) then
  return redis.error_reply('LOCKARG terms are none')
end`;

/**
 * `handOn()` hands the free lock over to the head of the queue, by `number nonce askedAt` on
 * `channelPrefix:<owner>`. A head without terms gets the wake-up `0`. Needs `leftMs`, the PTTL of
 * the lock before its release.
 */
export const HAND_ON = `
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

-- A waiter without a subscription is dead, or sends an attempt when it is connected again.
local function giveByMessage(waiter, place, record)
  local nonce, leaseMs, mode = string.match(record.terms, ${TERMS})
  local number = string.match(waiter, ':(%d+)$')
  if not mode or not number or record.life.aliveUntil <= now then return false end
  return giveTo(waiter, place, record, leaseMs, mode == 's' and '1' or '0', function()
    local receivers = announce(channelPrefix .. ':' .. waiter, number .. ' ' .. nonce .. ' ' .. record.life.askedAt)
    return receivers and receivers ~= 0
  end)
end

-- A waiter that could not be reached keeps its place. No waiter overtakes a Java thread, which
-- only Java can wake, nor a waiter without terms.
local function giveToNext(successor, leaseMs, starts)
  local head, _, record = sweep()
  if head and head == successor and record and giveTo(head, 0, record, leaseMs, starts) then
    return 'passed'
  end
  local waiter, place = head, 0
  while waiter and record and record.terms ~= '' and place < ${String(MOST_TRIED)} do
    if giveByMessage(waiter, place, record) then return 'done' end
    place = place + 1
    waiter = redis.call('lindex', queue, place)
    record = waiter and recordOf(waiter)
  end
  -- A successor that has left the queue finds the lock free.
  if not head then return successor and 'yielded' or 'done' end
  return announce(channelPrefix .. ':' .. head, '0') and 'done'
end

-- The release is done by then: a queue that Redis cannot read must not make it fail.
local function handOn(successor, leaseMs, starts)
  return tried(giveToNext, successor, leaseMs, starts) or 'unannounced'
end`;
