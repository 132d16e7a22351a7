import { takeToken } from '../../core/fencing-token.js';
import {
  enterAnswer,
  fencedAnswer,
  GRANTED,
  leaveAnswer,
  LOST,
  fewer,
} from '../../core/hash-lock.js';
import { defineScript } from '../../core/script.js';
import {
  FOR_ALL,
  inspection,
  MODE,
  READER,
  READERS,
  refuseUnheld,
  WRITER,
} from './read-write-hash.js';
import { GIVE_TURN, PATIENCE_MS, TURN_KEYS, WAITING } from './turns.js';

/** Somebody else writes, or reads and lives, or it is the turn of readers that wait. */
const REFUSE = `
local left
if mode == 'write' then
  ${refuseUnheld(WRITER)}
  left = redis.call('pttl', lock)
elseif mode == 'read' then
  local longest, seen = longestLease(math.huge)
  if seen == 0 then
    return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
  end
  if longest > 0 then left = longest else redis.call('del', lock) end
end
if not left and redis.call('exists', turn, readers) > 0 then
  if redis.call('exists', turn, patience) == 0 then
    giveTurn()
    announce(channel, '${FOR_ALL}')
  end
  if redis.call('exists', turn) == 1 then left = redis.call('pttl', turn) end
end
if left then
  if memoryMs > 0 then
    local isFirst = not isAwaited(writers)
    remember(writers, owner, memoryMs)
    if isFirst then redis.pcall('set', patience, '1', 'px', ${String(PATIENCE_MS)}) end
  end
  return {left}
end`;

/** Whether nobody else waits to write. */
const FORGET = `
local function forget(writer)
  if redis.call('zrem', writers, writer) == 0 or isAwaited(writers) then return false end
  redis.call('del', patience)
  return true
end`;

/**
 * Free, or read by dead readers only → written by this owner. Whoever is refused and waits is
 * remembered, and keeps new readers out. The lease of a nested entry is never added to, nor is any
 * made shorter; a nested entry (count > 1) never creates a hold.
 */
const enter = (token: string, granted: string) => `
if holdCount == 0 or leaseMs == 0 then
  return redis.error_reply('LOCKARG holdCount and leaseMs must not be 0')
end
${MODE}
${READERS}
${WAITING}
${GIVE_TURN}
${FORGET}
local field = owner .. ':write'
local held = mode == 'write' and redis.call('hget', lock, field)
if not held then
  if holdCount > 1 then return ${String(LOST)} end
  ${REFUSE}
end
${token}
if not held then
  redis.call('hset', lock, 'mode', 'write', field, holdCount)
  local expiry = redis.pcall('pexpire', lock, leaseMs)
  -- A user without the right to expire keys must not leave a lock that never ends.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return expiry
  end
  -- A key of another type must not make an enter fail that is done.
  pcall(forget, owner)
else
  if tonumber(held) ~= holdCount then redis.call('hset', lock, field, holdCount) end
  if redis.call('pttl', lock) < leaseMs then redis.call('pexpire', lock, leaseMs) end
end
return ${granted}`;

export const WRITE_ENTER = defineScript({
  name: 'write-lock.enter',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: ['owner', 'holdCount', 'leaseMs', 'memoryMs', 'channel'],
  numbers: ['holdCount', 'leaseMs', 'memoryMs'],
  channels: ['channel'],
  body: enter('', String(GRANTED)),
  reply: enterAnswer,
});

/** As WRITE_ENTER, with a token that is larger than every one before; one for one hold. */
export const WRITE_ENTER_FENCED = defineScript({
  name: 'write-lock.enter-fenced',
  keys: ['lock', 'prefix', ...TURN_KEYS, 'token'],
  args: ['owner', 'holdCount', 'leaseMs', 'memoryMs', 'channel', 'tokenTtlMs'],
  numbers: ['holdCount', 'leaseMs', 'memoryMs', 'tokenTtlMs'],
  channels: ['channel'],
  body: enter(takeToken('not held or tonumber(held) ~= holdCount'), 'fence'),
  reply: fencedAnswer,
});

/** The readers that waited go first, then whoever comes. A writer's own reads outlast its write. */
const LEAVE = `
local function leave()
  local mode = redis.call('hget', lock, 'mode')
  local field = owner .. ':write'
  local held = mode == 'write' and redis.call('hget', lock, field)
  if not held then return 'absent' end
  ${fewer('field')}
  -- What comes after the first write is allowed also when the memory is full.
  redis.call('hdel', lock, field)
  local longest = longestLease(math.huge)
  if longest > 0 then
    redis.call('hset', lock, 'mode', 'read')
    redis.call('pexpire', lock, longest)
  else
    redis.call('del', lock)
  end
  -- Keys of another type must not make a release fail that is done.
  pcall(giveTurn)
  return announce(channel, '${FOR_ALL}') and 'done' or 'unannounced'
end`;

/** Ours → fewer holds, or free, or read by the writer that goes on reading; and says so. */
export const WRITE_LEAVE = defineScript({
  name: 'write-lock.leave',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: ['owner', 'holdCount', 'channel'],
  numbers: ['holdCount'],
  channels: ['channel'],
  body: `
${READERS}
${WAITING}
${GIVE_TURN}
${LEAVE}
return leave()`,
  reply: leaveAnswer,
});

/** A writer that has given up: forgets that it waited, tells the readers, and what it was granted. */
export const WRITE_WITHDRAW = defineScript({
  name: 'write-lock.withdraw',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: ['owner', 'channel'],
  channels: ['channel'],
  body: `
local holdCount = 0
${READERS}
${WAITING}
${GIVE_TURN}
${FORGET}
${LEAVE}
local isLast = forget(owner)
local answer = leave()
if isLast and answer == 'absent' then announce(channel, '${FOR_ALL}') end
return answer`,
  reply: leaveAnswer,
});

export const WRITE_INSPECT = defineScript({
  name: 'write-lock.inspect',
  keys: ['lock'],
  args: [],
  body: `
${MODE}
if not mode then return {0} end
${refuseUnheld(`mode == 'read' and ${READER} or ${WRITER}`)}
if mode == 'read' then return {0} end
local answer = {redis.call('pttl', lock)}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ${WRITER}) then answer[#answer + 1] = string.sub(field, 1, -7) end
end
return answer`,
  reply: inspection,
});
