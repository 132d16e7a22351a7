import { giving, HASH_LOCK } from '../../core/lua/hand-off.js';
import { TERMS } from './fair-scores.lua.js';

/** So many who cannot be reached are passed over at a time; the lock is left free for the first then. */
const MOST_UNHEARD = 32;

/** Lua that refuses terms that nobody could read later. */
export const CHECK_TERMS = `
local grantMs = select(2, string.match(terms, ${TERMS}))
if terms ~= '' and (not grantMs or #grantMs > 15) then
  return redis.error_reply('LOCKARG terms are none')
end`;

/**
 * `handOn()` gives the free lock to whoever is next, if that one is told of it by
 * `number nonce askedAt` on `channelPrefix:<owner>`; to anybody else it says by `0` that it is free.
 * Needs `leftMs`: for how long the lock was to be held yet.
 */
export const HAND_ON = `
${giving(HASH_LOCK)}
-- Only what is so is told; and only who is told has it.
local function giveTo(waiter, place, record, leaseMs, count, tell)
  if not tried(give, waiter, count, leaseMs) then return false end
  if tell and not tell() then
    redis.call('del', lock)
    return false
  end
  remove(waiter, place, 1, record)
  local head, _, next = sweep()
  -- A Java thread sleeps for as long as the lock was to be held when it looked.
  if head and not next and (leftMs < 0 or tonumber(leaseMs) < leftMs) then announce(channelPrefix .. ':' .. head, '0') end
  return true
end

-- Whom nobody can reach is dead, or asks anew when it is back.
local function giveByMessage(waiter, place, record)
  local nonce, leaseMs, mode = string.match(record.terms, ${TERMS})
  local number = string.match(waiter, ':(%d+)$')
  if not mode or not number or record.life.aliveUntil <= now then return false end
  return giveTo(waiter, place, record, leaseMs, mode == 's' and '1' or '0', function()
    local receivers = announce(channelPrefix .. ':' .. waiter, number .. ' ' .. nonce .. ' ' .. record.life.askedAt)
    return receivers and receivers ~= 0
  end)
end

-- Whoever could not be reached keeps its place. Nobody overtakes one of whom only Java knows how it
-- is told, nor one that has not said yet that it is.
local function giveToNext(successor, leaseMs, starts)
  local head, _, record = sweep()
  if head and head == successor and record and giveTo(head, 0, record, leaseMs, starts) then
    return 'passed'
  end
  local waiter, place = head, 0
  while waiter and record and record.terms ~= '' and place < ${String(MOST_UNHEARD)} do
    if giveByMessage(waiter, place, record) then return 'done' end
    place = place + 1
    waiter = redis.call('lindex', queue, place)
    record = waiter and recordOf(waiter)
  end
  -- Whoever is named, and stands in the queue no more, finds it free.
  if not head then return successor and 'yielded' or 'done' end
  return announce(channelPrefix .. ':' .. head, '0') and 'done'
end

-- A queue that cannot be read must not make a release fail that is done.
local function handOn(successor, leaseMs, starts)
  return tried(giveToNext, successor, leaseMs, starts) or 'unannounced'
end`;
