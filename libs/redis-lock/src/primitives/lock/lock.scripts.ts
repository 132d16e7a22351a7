import { REFUSAL, releaseAnswer } from '../lua/answers.js';
import { fencedPair } from '../lua/fencing-token.js';
import * as handOff from '../lua/hand-off.js';
import { STANDING_BACK } from '../lua/outsiders.lua.js';
import { CHECK_LEASE, CREATE, LOOK, REFUSE_OTHERS } from '../lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';

/**
 * The lock on the wire is Redisson's RLock, primitives/lua/hash-lock.ts. A process that waits long
 * enough joins the queue of primitives/lua/hand-off.ts. A release hands the lock over to it.
 */

/**
 * Free, or handed over to this owner → held by this owner. Otherwise the process joins the queue.
 * An owner that has acquired again since this was first sent keeps its hold.
 */
export const ACQUIRE_OR_QUEUE = fencedPair({
  name: 'lock.acquire-or-queue',
  keys: ['lock', ...handOff.QUEUE_KEYS],
  args: ['owner', 'leaseMs', 'claim'],
  isNew: "not held or held == '0'",
  body: (token, granted) => `
${CHECK_LEASE}
${handOff.CHECK_CLAIM}
${handOff.SERVER_TIME}
${handOff.QUEUE}
${handOff.JOIN_QUEUE}
${STANDING_BACK}
${LOOK}
if not held then
  if left then
    ${REFUSE_OTHERS}
  end
  local untilMs, sections = standingBack(left)
  if left or untilMs then
    joinQueue(owner)
    return ${REFUSAL}
  end
end
${token}
if not held then
  ${CREATE}
  takeBack()
else
  -- HSET comes last: with its memory full, Redis refuses it unless another write came first.
  if left < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  if held == '0' then redis.call('hset', lock, owner, '1') end
end
removeProcess(processOf(owner))
return ${granted}`,
});

const FREE = `redis.call('del', lock)`;

/** Lua that frees the lock, and ends the script if no process waits. */
const FREE_UNCONTENDED = `
${handOff.LOOK_AT_QUEUE}
${handOff.announceUncontended(handOff.HASH_LOCK, FREE)}`;

/**
 * Lua that frees the lock behind `FREE_UNCONTENDED`, `QUEUE` and `LEAVE_QUEUE`, and hands it over.
 */
const FREE_TO_NEXT = `
${handOff.handOver(handOff.HASH_LOCK)}
-- DEL comes first: a user without the right to it changes nothing.
if not isUnawaited then ${FREE} end
${handOff.handOverOrAnnounce(handOff.HASH_LOCK)}`;

/** Held by this owner → free and announced, or held by the process that has waited longest. */
export const RELEASE = defineScript({
  name: 'lock.release',
  keys: ['lock', ...handOff.QUEUE_KEYS],
  args: ['owner', 'channel', 'due'],
  numbers: ['due'],
  channels: ['channel'],
  body: `
if not redis.call('hget', lock, owner) then return 'absent' end
${FREE_UNCONTENDED}
${handOff.SERVER_TIME}
${handOff.QUEUE}
${handOff.LEAVE_QUEUE}
${FREE_TO_NEXT}`,
  reply: releaseAnswer,
});

/** Held by this owner → held for `keepMs`, and then free. A second call starts the time again. */
export const RELEASE_LATER = defineScript({
  name: 'lock.release-later',
  keys: ['lock'],
  args: ['owner', 'keepMs', 'channel'],
  numbers: ['keepMs'],
  channels: ['channel'],
  body: `
if redis.call('hexists', lock, owner) == 0 then return 'absent' end
local left = redis.call('pttl', lock)
redis.call('pexpire', lock, keepMs)
-- A waiter that was refused sleeps until the end of the older lease.
if left <= keepMs then return 'done' end
return announce(channel, '0') and 'done' or 'unannounced'`,
  reply: releaseAnswer,
});

/**
 * Held by this owner → held by the successor. `starts` is the hold count: 0 for a successor that
 * still runs its own acquire. A user without the rights for that still releases the lock.
 */
export const PASS = defineScript({
  name: 'lock.pass',
  keys: ['lock'],
  args: handOff.PASS_ARGS,
  body: `
${handOff.refuseAbsent(handOff.HASH_LOCK)}
${handOff.passOn(handOff.HASH_LOCK)}`,
  reply: releaseAnswer,
});

/**
 * Held by this owner → held by the process that has waited longest, with the successor queued. Held
 * by the successor, if no other process waits.
 */
export const PASS_IN_ORDER = defineScript({
  name: 'lock.pass-in-order',
  keys: ['lock', ...handOff.QUEUE_KEYS],
  args: handOff.PASS_IN_ORDER_ARGS,
  numbers: ['due'],
  channels: ['channel'],
  body: `
${handOff.CHECK_CLAIM}
${handOff.refuseAbsent(handOff.HASH_LOCK)}
${handOff.SERVER_TIME}
${handOff.QUEUE}
${handOff.JOIN_QUEUE}
local isUnawaited, reached = false
${handOff.handOver(handOff.HASH_LOCK)}
${FREE}
${handOff.passInOrder(handOff.HASH_LOCK)}`,
  reply: releaseAnswer,
});

/** Cancels a waiter: its process leaves the queue, and hands over the waiter's grant. */
export const CANCEL = defineScript({
  name: 'lock.cancel',
  keys: ['lock', ...handOff.QUEUE_KEYS],
  args: ['owner', 'channel', 'due'],
  numbers: ['due'],
  channels: ['channel'],
  body: `
${handOff.SERVER_TIME}
${handOff.QUEUE}
${handOff.LEAVE_QUEUE}
local held = redis.pcall('hget', lock, owner)
-- A key of another type belongs to another application now.
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
if type(held) ~= 'string' then
  leaveQueue(owner)
  return 'absent'
end
${FREE_UNCONTENDED}
${FREE_TO_NEXT}`,
  reply: releaseAnswer,
});
