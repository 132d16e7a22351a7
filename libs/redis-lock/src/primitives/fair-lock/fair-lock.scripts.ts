import { releaseAnswer } from '../lua/answers.js';
import { fencedPair } from '../lua/fencing-token.js';
import { HASH_LOCK, PASS_ARGS, refuseAbsent } from '../lua/hand-off.js';
import { CHECK_LEASE, CREATE, REFUSE_OTHERS_OF } from '../lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';
import { CHECK_TERMS, GIVE_BEFORE, HAND_ON } from './fair-hand-off.lua.js';
import { DEQUEUE, ENQUEUE, SWEEP } from './fair-queue.lua.js';
import { READ_QUEUE } from './fair-scores.lua.js';

/**
 * The lock on the wire is Redisson's RFairLock: the hash of an RLock, with a queue before it. A
 * release wakes only the head, by `0` on its own channel `channelPrefix:<owner>`. A head of this
 * library with terms is already the owner: its push is `number nonce askedAt`.
 */

const FAIR_KEYS = ['lock', 'queue', 'timeouts', 'waiting'] as const;

/** Lua that refuses the caller, or sets `leaveQueue`, which runs once the caller holds the lock. */
const ASK_QUEUE = `
local own, life
if waitMs > 0 then own, life = stayAlive() end
local head, hasSwept, record = sweep()
local isNext = not head or head == owner
-- Where nobody can tell who listens, the lock would go to waiters that were served long ago.
if isFree and not isNext and countBy then
  local leftMs = -1
  ${GIVE_BEFORE}
  local isGiven, place = giveBefore(owner, head, record)
  -- Its process can tell whether the siblings that it would overtake still wait.
  isNext = place and (waitMs == 0 or not siblings({})[1])
  if isGiven then
    isFree = false
    head, hasSwept, record = sweep()
    if waitMs > 0 then own, life = recordOf(owner) end
  end
end
if not isFree or not isNext then
  local answer = waitInQueue(own, life, head, record)
  -- A Java thread does not poll, and gets no wake-up when a lease or a claim expires.
  if isFree and (hasSwept or waitMs > 0 and not record) then announce(channelPrefix .. ':' .. head, '0') end
  return answer
end
leaveQueue = function()
  -- Java removes a waiter from the queue, but not its record.
  if head == owner then remove(owner, 0, 1, record, waitMs) elseif head or own then dequeue(1) end
  if head or own then sweep() end
end`;

/**
 * Already held by this owner → held once. Free, with an empty queue or this owner first in it →
 * held. Waiters that cannot be reached do not count; the first that can is handed the lock. The lease is at least this one. Otherwise the caller joins the queue, if it waits: `waitMs`
 * above 0.
 */
export const ACQUIRE = fencedPair({
  name: 'fair.acquire',
  keys: FAIR_KEYS,
  args: ['owner', 'leaseMs', 'waitMs', 'aliveMs', 'askedAt', 'terms', 'channelPrefix'],
  numbers: ['waitMs', 'aliveMs', 'askedAt'],
  channels: ['channelPrefix'],
  inOrder: true,
  isNew: `held ~= '1'`,
  body: (token, granted) => `
${CHECK_LEASE}
if aliveMs == 0 then return redis.error_reply('LOCKARG aliveMs must not be 0') end
${CHECK_TERMS}
local held = redis.call('hget', lock, owner)
local fields = held and 1 or redis.call('hlen', lock)
local isFree = fields == 0
if not held and not isFree then
  ${REFUSE_OTHERS_OF}
end
-- The queue is nearly always empty: then none of its Lua has to run.
local isUnawaited = isFree and not redis.call('lindex', queue, 0)
  and (waitMs == 0 or redis.call('hexists', waiting, owner) == 0)
local leaveQueue
if not held and not isUnawaited then
  ${READ_QUEUE}
  ${SWEEP}
  ${DEQUEUE}
  ${ENQUEUE}
  ${ASK_QUEUE}
end
${token}
if held then
  if held ~= '1' then redis.call('hset', lock, owner, '1') end
  if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  return ${granted}
end
${CREATE}
if leaveQueue then leaveQueue() end
return ${granted}`,
});

/** Held by this owner → held by the head of the queue, or free with a wake-up for the head. */
export const RELEASE = defineScript({
  name: 'fair.release',
  keys: FAIR_KEYS,
  args: ['owner', 'channelPrefix'],
  channels: ['channelPrefix'],
  body: `
if not redis.call('hget', lock, owner) then return 'absent' end
if redis.pcall('lindex', queue, 0) == false then
  redis.call('del', lock)
  return 'done'
end
local leftMs = redis.call('pttl', lock)
${READ_QUEUE}
-- DEL is the first write: after it Redis refuses none, however full its memory is.
redis.call('del', lock)
${SWEEP}
${HAND_ON}
return handOn()`,
  reply: releaseAnswer,
});

/**
 * As RELEASE. A successor of the same process at the head of the queue gets the lock with its own
 * lease. The answer says so.
 */
export const PASS = defineScript({
  name: 'fair.pass',
  keys: FAIR_KEYS,
  args: [...PASS_ARGS, 'channelPrefix'],
  channels: ['channelPrefix'],
  body: `
${refuseAbsent(HASH_LOCK)}
local leftMs = redis.call('pttl', lock)
${READ_QUEUE}
redis.call('del', lock)
${SWEEP}
${HAND_ON}
return handOn(successor, leaseMs, starts)`,
  reply: releaseAnswer,
});

/** Removes a waiter from the queue, and releases its grant. */
export const CANCEL = defineScript({
  name: 'fair.cancel',
  keys: FAIR_KEYS,
  args: ['owner', 'waitMs', 'channelPrefix'],
  numbers: ['waitMs'],
  channels: ['channelPrefix'],
  body: `
local leftMs = redis.call('pttl', lock)
${READ_QUEUE}
${SWEEP}
${DEQUEUE}
${HAND_ON}
local wasNext = dequeue(-1)
-- A key of another type belongs to another application now.
local held = redis.pcall('hget', lock, owner)
local isOurs = type(held) == 'string'
if isOurs then redis.call('del', lock) end
if (isOurs or wasNext) and redis.call('exists', lock) == 0 then return handOn() end
return 'done'`,
  reply: releaseAnswer,
});

/** Removes owners that no longer wait from the queue. A lock that one of them holds stays held. */
export const CANCEL_STRAYS = defineScript({
  name: 'fair.cancel-strays',
  keys: FAIR_KEYS,
  args: ['owners', 'channelPrefix'],
  channels: ['channelPrefix'],
  body: `
local leftMs = -1
local owner, waitMs = nil, 0
${READ_QUEUE}
${SWEEP}
${DEQUEUE}
${HAND_ON}
for stray in string.gmatch(owners, '%S+') do
  owner = stray
  dequeue(1)
end
if redis.call('exists', lock) == 0 then return handOn() end
return 'done'`,
  reply: releaseAnswer,
});
