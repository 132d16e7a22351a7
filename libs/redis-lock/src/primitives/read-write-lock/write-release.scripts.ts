import { fragment } from '../lua/fragment.js';
import * as handOff from '../lua/hand-off.js';
import { releaseAnswer } from '../lua/answers.js';
import { defineScript } from '../../core/redis/script.js';
import { ANNOUNCE_TO_ALL, LONGEST_LEASE } from './read-write-hash.lua.js';
import { TURN_KEYS } from './footprint.js';
import { FORGET, GIVE_TURN, WAIT_TO_WRITE, WAITING } from './turns.lua.js';

/**
 * A writer that releases makes way for waiting readers first, and then for its own reads. The next
 * writer of primitives/lua/hand-off.ts follows only after them.
 */

const WRITE_LOCK: handOff.HandedLock = {
  field: (owner) => `${owner} .. ':write'`,
  beside: `'mode', 'write', `,
  freed: 'announceToAll()',
  onGiven: 'pcall(forget, one)',
  onWaiting: 'pcall(waitToWrite, successor)',
};

const RELEASE = fragment(
  'announce channel lock prefix readers turn writers writersTurn',
  'MOST_HOLDS announceToAll forget giveTurn isAwaited isForReaders leaseOf letGo longestLease now nowMs serverTime',
)`
${LONGEST_LEASE}
${ANNOUNCE_TO_ALL}
${handOff.SERVER_TIME}
${WAITING}
${GIVE_TURN}
${FORGET}
-- Releases the write hold. Answers the rest of the writer's longest read (ms), which outlasts the
-- write.
local function letGo(field)
  local longest = redis.call('hlen', lock) > 2 and longestLease() or 0
  if longest > 0 then
    -- The lease comes first: with its memory full, Redis refuses only a first write.
    redis.call('pexpire', lock, longest)
    redis.call('hset', lock, 'mode', 'read')
    redis.call('hdel', lock, field)
  else
    redis.call('del', lock)
  end
  return longest
end
-- Whether the released lock belongs to readers now.
local function isForReaders(longest)
  local waiting = redis.pcall('exists', readers, writers, turn)
  if waiting == 0 then return longest > 0 end
  -- The release is done by then: keys of another type must not make it fail.
  pcall(giveTurn)
  return longest > 0 or redis.pcall('exists', turn) == 1
end`;

/** Lua that releases the write hold, and ends the script if readers have the lock. */
const letGo = (answer: string, first = '') => `
if isForReaders(letGo(field)) then
  ${first}
  return announceToAll() and '${answer}' or 'unannounced'
end`;

/** Lua that sets `held` to the hold count of the owner, or to nothing if it does not write. */
const HELD = `
local field = owner .. ':write'
local mode, held = unpack(redis.call('hmget', lock, 'mode', field))
held = mode == 'write' and held`;

/** Held by this owner → for readers, held by the next writer, or free. */
export const WRITE_RELEASE = defineScript({
  name: 'write-lock.release',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...handOff.QUEUE_KEYS],
  args: ['owner', 'channel', 'due'],
  numbers: ['due'],
  channels: ['channel'],
  body: `
${HELD}
if not held then return 'absent' end
${RELEASE}
${handOff.QUEUE}
${handOff.LOOK_AT_QUEUE}
${handOff.LEAVE_QUEUE}
${handOff.handOver(WRITE_LOCK)}
${letGo('done', 'leaveQueue(owner, true)')}
${handOff.announceUncontended(WRITE_LOCK)}
${handOff.handOverOrAnnounce(WRITE_LOCK)}`,
  reply: releaseAnswer,
});

const NOT_OURS = fragment('leaseMs lock owner starts successor', 'field held mode')`
${HELD}
${handOff.refuseAbsent(WRITE_LOCK, 'held')}`;

/** Held by this owner → for readers, or held by the successor. */
export const WRITE_PASS = defineScript({
  name: 'write-lock.pass',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: [...handOff.PASS_ARGS, 'channel'],
  channels: ['channel'],
  body: `
${NOT_OURS}
-- No other waiter wants the lock, and the writer does not read.
if redis.call('hlen', lock) == 2 and redis.call('exists', readers, writers, turn) == 0 then
  ${handOff.passOn(WRITE_LOCK)}
end
${RELEASE}
${handOff.giving(WRITE_LOCK)}
${letGo('yielded')}
return tried(give, successor, starts, leaseMs) and 'passed' or 'unannounced'`,
  reply: releaseAnswer,
});

/**
 * Held by this owner → for readers, or held by the next writer with the successor queued. Held by
 * the successor, if no writer waits.
 */
export const WRITE_PASS_IN_ORDER = defineScript({
  name: 'write-lock.pass-in-order',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...handOff.QUEUE_KEYS],
  args: [...handOff.PASS_IN_ORDER_ARGS, 'memoryMs'],
  numbers: ['due', 'memoryMs'],
  channels: ['channel'],
  body: `
${handOff.CHECK_CLAIM}
${NOT_OURS}
${RELEASE}
${WAIT_TO_WRITE}
${handOff.QUEUE}
${handOff.JOIN_QUEUE}
local isUnawaited, reached = false
${handOff.handOver(WRITE_LOCK)}
${letGo('yielded')}
${handOff.passInOrder(WRITE_LOCK)}`,
  reply: releaseAnswer,
});

/**
 * Cancels a writer: its wait, its place in the queue, and its grant. Readers get a wake-up if no
 * writer waits.
 */
export const WRITE_CANCEL = defineScript({
  name: 'write-lock.cancel',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...handOff.QUEUE_KEYS],
  args: ['owner', 'channel', 'due'],
  numbers: ['due'],
  channels: ['channel'],
  body: `
${RELEASE}
${handOff.QUEUE}
${handOff.LOOK_AT_QUEUE}
${handOff.LEAVE_QUEUE}
${handOff.handOver(WRITE_LOCK)}
local field = owner .. ':write'
local mode = redis.pcall('hget', lock, 'mode')
-- A key of another type belongs to another application now.
if type(mode) == 'table' and not string.find(mode.err, 'WRONGTYPE', 1, true) then return mode end
local isOurs = mode == 'write' and redis.call('hexists', lock, field) == 1
-- The release comes first: a user without the rights for it changes nothing.
local longest = isOurs and letGo(field)
local isLast = tried(forget, owner)
leaveQueue(owner)
if not isOurs then
  if isLast then announceToAll() end
  return 'absent'
end
if isForReaders(longest) then
  return announceToAll() and 'done' or 'unannounced'
end
${handOff.announceUncontended(WRITE_LOCK)}
${handOff.handOverOrAnnounce(WRITE_LOCK)}`,
  reply: releaseAnswer,
});
