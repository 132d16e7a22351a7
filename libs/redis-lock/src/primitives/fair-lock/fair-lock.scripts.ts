import { takeToken } from '../../core/lua/fencing-token.js';
import { HASH_LOCK, refuseAbsent } from '../../core/lua/hand-off.js';
import {
  CREATE,
  acquireAnswer,
  fencedAnswer,
  fewer,
  GRANTED,
  releaseAnswer,
  LOST,
  REFUSE_OTHERS_OF,
} from '../../core/lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';
import { CHECK_TERMS, HAND_ON } from './fair-hand-on.js';
import { DEQUEUE, ENQUEUE, SWEEP } from './fair-queue.js';
import { READ_QUEUE } from './fair-scores.js';

/**
 * The lock on the wire is Redisson's RFairLock: the hash of an RLock, with a queue before it. Only
 * its head is told of a release, on a channel of its own: `0` on `channelPrefix:<owner>`. A head of
 * ours that has said so is the owner by then, and told by `number nonce askedAt`.
 */

/** Refuses the caller, or leaves in `leaveQueue` what has to be done once the lock is its own. */
const ASK_QUEUE = `
local own, life
if waitMs > 0 then own, life = stayAlive() end
local head, hasSwept, record = sweep()
if not isFree or (head and head ~= owner) then
  local answer = waitInLine(own, life, head, record)
  -- A Java thread does not look by itself, and nobody has told it when a lease or a claim ended.
  if isFree and (hasSwept or waitMs > 0 and not record) then announce(channelPrefix .. ':' .. head, '0') end
  return answer
end
leaveQueue = function()
  -- A record without a place is left when Java has thrown it out.
  if head then remove(owner, 0, 1, record, waitMs) elseif own then dequeue(1) end
  if head or own then sweep() end
end`;

/**
 * Free, with nobody waiting or ours first in the queue, or ours already → ours, with this count and
 * at least this lease. Else into the queue, if the caller waits: `waitMs` above 0.
 */
const enter = (token: string, granted: string) => `
if holdCount == 0 or leaseMs == 0 or aliveMs == 0 then
  return redis.error_reply('LOCKARG holdCount, leaseMs and aliveMs must not be 0')
end
${CHECK_TERMS}
local held = redis.call('hget', lock, owner)
if not held and holdCount > 1 then return ${String(LOST)} end
local fields = held and 1 or redis.call('hlen', lock)
local isFree = fields == 0
if not held and not isFree then
  ${REFUSE_OTHERS_OF}
end
-- Nearly always nobody waits: then nothing of the queue has to run.
local isAlone = isFree and not redis.call('lindex', queue, 0)
  and (waitMs == 0 or redis.call('hexists', waiting, owner) == 0)
local leaveQueue
if not held and not isAlone then
  ${READ_QUEUE}
  ${SWEEP}
  ${DEQUEUE}
  ${ENQUEUE}
  ${ASK_QUEUE}
end
${token}
if held then
  if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
  if redis.call('pttl', lock) < leaseMs then redis.call('pexpire', lock, leaseMs) end
  return ${granted}
end
${CREATE}
if leaveQueue then leaveQueue() end
return ${granted}`;

export const ACQUIRE = defineScript({
  name: 'fair.acquire',
  keys: ['lock', 'queue', 'timeouts', 'waiting'],
  args: ['owner', 'holdCount', 'leaseMs', 'waitMs', 'aliveMs', 'askedAt', 'terms', 'channelPrefix'],
  numbers: ['holdCount', 'leaseMs', 'waitMs', 'aliveMs', 'askedAt'],
  channels: ['channelPrefix'],
  inOrder: true,
  body: enter('', String(GRANTED)),
  reply: acquireAnswer,
});

/** As ENTER, with a token that is larger than every one before. */
export const ACQUIRE_FENCED = defineScript({
  name: 'fair.acquire-fenced',
  keys: ['lock', 'queue', 'timeouts', 'waiting', 'token'],
  args: [
    'owner',
    'holdCount',
    'leaseMs',
    'waitMs',
    'aliveMs',
    'askedAt',
    'terms',
    'channelPrefix',
    'tokenTtlMs',
  ],
  numbers: ['holdCount', 'leaseMs', 'waitMs', 'aliveMs', 'askedAt', 'tokenTtlMs'],
  channels: ['channelPrefix'],
  inOrder: true,
  body: enter(takeToken('not held or tonumber(held) ~= holdCount'), 'fence'),
  reply: fencedAnswer,
});

/** Ours → fewer, or of the next one, or free and the next one told. */
export const RELEASE = defineScript({
  name: 'fair.release',
  keys: ['lock', 'queue', 'timeouts', 'waiting'],
  args: ['owner', 'holdCount', 'channelPrefix'],
  numbers: ['holdCount'],
  channels: ['channelPrefix'],
  body: `
local held = redis.call('hget', lock, owner)
if not held then return 'absent' end
${fewer('owner')}
local isAlone = redis.pcall('lindex', queue, 0) == false
local leftMs = isAlone or redis.call('pttl', lock)
-- First of all: after it Redis refuses no write any more, however full its memory is.
redis.call('del', lock)
if isAlone then return 'done' end
${READ_QUEUE}
${SWEEP}
${HAND_ON}
return handOn()`,
  reply: releaseAnswer,
});

/**
 * As LEAVE to 0, and if the first in the queue is the heir, a waiter of the same process, it has the
 * lock with its own lease, and is told by the answer.
 */
export const PASS = defineScript({
  name: 'fair.pass',
  keys: ['lock', 'queue', 'timeouts', 'waiting'],
  args: ['owner', 'heir', 'leaseMs', 'starts', 'channelPrefix'],
  numbers: ['leaseMs', 'starts'],
  channels: ['channelPrefix'],
  body: `
${refuseAbsent(HASH_LOCK)}
local leftMs = redis.call('pttl', lock)
redis.call('del', lock)
${READ_QUEUE}
${SWEEP}
${HAND_ON}
return handOn(heir, leaseMs, starts)`,
  reply: releaseAnswer,
});

/** Takes a waiter from the queue, and what it was granted, whichever it is. */
export const CANCEL = defineScript({
  name: 'fair.cancel',
  keys: ['lock', 'queue', 'timeouts', 'waiting'],
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
-- A key that holds something else by now is not ours to give back.
local held = redis.pcall('hget', lock, owner)
local isOurs = type(held) == 'string'
if isOurs then redis.call('del', lock) end
if (isOurs or wasNext) and redis.call('exists', lock) == 0 then return handOn() end
return 'done'`,
  reply: releaseAnswer,
});
