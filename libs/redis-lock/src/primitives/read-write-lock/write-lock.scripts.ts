import { takeToken } from '../../core/lua/fencing-token.js';
import {
  CHECK_CLAIM,
  LINE,
  LINE_KEYS,
  SERVER_TIME,
  STAND_IN_LINE,
} from '../../core/lua/hand-off.js';
import { STANDING_BACK } from '../../core/lua/outsiders.js';
import {
  CHECK_ENTRY,
  acquireAnswer,
  expireOr,
  fencedAnswer,
  GRANTED,
  LOST,
  refusal,
} from '../../core/lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';
import {
  ANNOUNCE_TO_ALL,
  BEGIN_INSPECTION,
  inspection,
  MODE,
  READERS,
  refuseUnheld,
  WRITER,
} from './read-write-hash.js';
import { FORGET, GIVE_TURN, TURN_KEYS, WAIT_TO_WRITE, WAITING } from './turns.js';

/** Somebody else writes, or reads and lives, or it is the turn of readers that wait. */
const refuse = ({ standsBack, isRefused, stands, refused }: typeof IN_LINE) => `
local left
if mode == 'write' then
  ${refuseUnheld(WRITER)}
  left = redis.call('pttl', lock)
elseif mode == 'read' then
  local longest, seen = longestLease()
  if seen == 0 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  if longest > 0 then left = longest else redis.call('del', lock) end
end
if not left and redis.call('exists', turn, readers) > 0 then
  if redis.call('exists', turn, patience) == 0 then
    giveTurn()
    announceToAll()
  end
  if redis.call('exists', turn) == 1 then left = redis.call('pttl', turn) end
end
${standsBack}
if ${isRefused} then
  if memoryMs > 0 then waitToWrite(owner) end
  ${stands}
  return ${refused}
end`;

/** Lua of those who stand in the line of core/lua/hand-off.ts. */
const IN_LINE = {
  check: `${CHECK_CLAIM}
local holdCount = 1`,
  line: `${LINE}${STAND_IN_LINE}${STANDING_BACK}`,
  standsBack: 'local standBackMs = standingBack(left)',
  isRefused: 'left or standBackMs',
  stands: 'standInLine(owner)',
  refused: refusal('left', 'standBackMs'),
  takesBack: 'takeBack()',
  leaves: 'leaveLine(processOf(owner))',
  /** Whoever entered more than once since this was first sent is left alone. */
  isOther: `held == '0'`,
};

const ALONE: typeof IN_LINE = {
  ...{ check: '', line: '', standsBack: '', stands: '', takesBack: '', leaves: '' },
  ...{ isRefused: 'left', refused: '{left}' },
  isOther: 'tonumber(held) ~= holdCount',
};

/**
 * Free, or read by dead readers only → written by this owner. Whoever is refused and waits is
 * remembered, and keeps new readers out. The lease of a nested entry is never added to, nor is any
 * made shorter; a nested entry (count > 1) never creates a hold.
 */
const enter = (way: typeof IN_LINE, isFenced: boolean) => `
${way.check}
${CHECK_ENTRY}
${MODE}
${READERS}
${ANNOUNCE_TO_ALL}
${SERVER_TIME}
${WAITING}
${GIVE_TURN}
${WAIT_TO_WRITE}
${FORGET}
${way.line}
local field = owner .. ':write'
local held = mode == 'write' and redis.call('hget', lock, field)
if not held then
  if holdCount > 1 then return ${String(LOST)} end
  ${refuse(way)}
end
${isFenced ? takeToken(`not held or ${way.isOther}`) : ''}
if not held then
  redis.call('hset', lock, 'mode', 'write', field, holdCount)
  ${expireOr(`redis.call('del', lock)`)}
  -- A key of another type must not make an enter fail that is done.
  pcall(forget, owner)
  ${way.takesBack}
else
  -- Last what Redis refuses with its memory full, unless something else was written before.
  if redis.call('pttl', lock) < leaseMs then redis.call('pexpire', lock, leaseMs) end
  if ${way.isOther} then redis.call('hset', lock, field, holdCount) end
end
${way.leaves}
return ${isFenced ? 'fence' : String(GRANTED)}`;

export const WRITE_ACQUIRE = defineScript({
  name: 'write-lock.acquire',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: ['owner', 'holdCount', 'leaseMs', 'memoryMs', 'channel'],
  numbers: ['holdCount', 'leaseMs', 'memoryMs'],
  channels: ['channel'],
  body: enter(ALONE, false),
  reply: acquireAnswer,
});

/** As WRITE_ENTER, with a token that is larger than every one before; one for one hold. */
export const WRITE_ACQUIRE_FENCED = defineScript({
  name: 'write-lock.acquire-fenced',
  keys: ['lock', 'prefix', ...TURN_KEYS, 'token'],
  args: ['owner', 'holdCount', 'leaseMs', 'memoryMs', 'channel', 'tokenTtlMs'],
  numbers: ['holdCount', 'leaseMs', 'memoryMs', 'tokenTtlMs'],
  channels: ['channel'],
  body: enter(ALONE, true),
  reply: fencedAnswer,
});

/** As WRITE_ENTER, once; whoever is refused stands in line from then on. */
export const WRITE_ACQUIRE_OR_QUEUE = defineScript({
  name: 'write-lock.acquire-or-queue',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...LINE_KEYS],
  args: ['owner', 'leaseMs', 'memoryMs', 'channel', 'claim'],
  numbers: ['leaseMs', 'memoryMs'],
  channels: ['channel'],
  body: enter(IN_LINE, false),
  reply: acquireAnswer,
});

/** As WRITE_CLAIM, with a token that is larger than every one before. */
export const WRITE_ACQUIRE_OR_QUEUE_FENCED = defineScript({
  name: 'write-lock.acquire-or-queue-fenced',
  keys: ['lock', 'prefix', ...TURN_KEYS, ...LINE_KEYS, 'token'],
  args: ['owner', 'leaseMs', 'memoryMs', 'channel', 'claim', 'tokenTtlMs'],
  numbers: ['leaseMs', 'memoryMs', 'tokenTtlMs'],
  channels: ['channel'],
  body: enter(IN_LINE, true),
  reply: fencedAnswer,
});

export const WRITE_INSPECT = defineScript({
  name: 'write-lock.inspect',
  keys: ['lock'],
  args: [],
  body: `
${BEGIN_INSPECTION}
if mode == 'read' then return {0} end
local answer = {redis.call('pttl', lock)}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ${WRITER}) then answer[#answer + 1] = string.sub(field, 1, -7) end
end
return answer`,
  reply: inspection,
});
