import { inspection, REFUSAL } from '../lua/answers.js';
import { fencedPair } from '../lua/fencing-token.js';
import * as handOff from '../lua/hand-off.js';
import { STANDING_BACK } from '../lua/outsiders.lua.js';
import { CHECK_LEASE, expireOr } from '../lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';
import * as hash from './read-write-hash.lua.js';
import { TURN_KEYS } from './footprint.js';
import {
  FORGET,
  GIVE_TURN,
  WRITERS_TURN_LEFT,
  TURN_LEFT,
  WAIT_TO_WRITE,
  WAITING,
} from './turns.lua.js';

/**
 * Lua that refuses the owner: another owner writes or reads, or waiting readers have their turn.
 */
const refuse = ({ standsBack, isRefused, joins, refused }: typeof IN_QUEUE) => `
local left
if mode == 'write' then
  ${hash.refuseUnheld(hash.WRITER)}
  left = redis.call('pttl', lock)
elseif mode == 'read' then
  local longest, seen = longestLease()
  if seen == 0 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  if longest > 0 then left = longest else redis.call('del', lock) end
end
if not left and redis.call('exists', turn, readers) > 0 then
  if not turnLeft() and not writersTurnLeft() then
    giveTurn()
    announceToAll()
  end
  left = turnLeft()
end
${standsBack}
if ${isRefused} then
  if memoryMs > 0 then waitToWrite(owner) end
  ${joins}
  return ${refused}
end`;

/** Lua of owners that wait in the queue of primitives/lua/hand-off.ts. */
const IN_QUEUE = {
  check: handOff.CHECK_CLAIM,
  queue: `${handOff.QUEUE}${handOff.JOIN_QUEUE}${STANDING_BACK}`,
  standsBack: 'local untilMs, sections = standingBack(left)',
  isRefused: 'left or untilMs',
  joins: 'joinQueue(owner)',
  refused: REFUSAL,
  takesBack: 'takeBack()',
  leaves: 'removeProcess(processOf(owner))',
  /** An owner that has acquired again since this was first sent keeps its hold. */
  isOther: `held == '0'`,
};

const WITHOUT_QUEUE: typeof IN_QUEUE = {
  ...{ check: '', queue: '', standsBack: '', joins: '', takesBack: '', leaves: '' },
  ...{ isRefused: 'left', refused: '{left}' },
  isOther: `held ~= '1'`,
};

/**
 * Free, or read only by dead readers → written by this owner, once. An owner that is refused and
 * waits is remembered, and keeps new readers out. No lease becomes shorter.
 */
const acquire = (way: typeof IN_QUEUE) => (token: string, granted: string) => `
${way.check}
${CHECK_LEASE}
${hash.MODE}
${hash.LONGEST_LEASE}
${hash.ANNOUNCE_TO_ALL}
${handOff.SERVER_TIME}
${WAITING}
${GIVE_TURN}
${WRITERS_TURN_LEFT}
${TURN_LEFT}
${WAIT_TO_WRITE}
${FORGET}
${way.queue}
local field = owner .. ':write'
local held = mode == 'write' and redis.call('hget', lock, field)
if not held then
  ${refuse(way)}
end
${token}
if not held then
  redis.call('hset', lock, 'mode', 'write', field, '1')
  ${expireOr(`redis.call('del', lock)`)}
  -- The acquire is done by then: a key of another type must not make it fail.
  pcall(forget, owner)
  ${way.takesBack}
else
  -- HSET comes last: with its memory full, Redis refuses it unless another write came first.
  if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  if ${way.isOther} then redis.call('hset', lock, field, '1') end
end
${way.leaves}
return ${granted}`;

const WRITE_ARGS = ['owner', 'leaseMs', 'memoryMs', 'channel'] as const;

export const WRITE_ACQUIRE = fencedPair({
  name: 'write-lock.acquire',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: WRITE_ARGS,
  numbers: ['memoryMs'],
  channels: ['channel'],
  isNew: `not held or ${WITHOUT_QUEUE.isOther}`,
  body: acquire(WITHOUT_QUEUE),
});

/** The same. A refused owner joins the queue. */
export const WRITE_ACQUIRE_OR_QUEUE = fencedPair({
  name: 'write-lock.acquire-or-queue',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...handOff.QUEUE_KEYS],
  args: [...WRITE_ARGS, 'claim'],
  numbers: ['memoryMs'],
  channels: ['channel'],
  isNew: `not held or ${IN_QUEUE.isOther}`,
  body: acquire(IN_QUEUE),
});

export const WRITE_INSPECT = defineScript({
  name: 'write-lock.inspect',
  keys: ['lock'],
  args: [],
  body: `
${hash.BEGIN_INSPECTION}
if mode == 'read' then return {0} end
local answer = {redis.call('pttl', lock)}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ${hash.WRITER}) then
    answer[#answer + 1] = string.sub(field, 1, -7)
    answer[#answer + 1] = redis.call('hget', lock, field)
  end
end
return answer`,
  reply: inspection,
});
