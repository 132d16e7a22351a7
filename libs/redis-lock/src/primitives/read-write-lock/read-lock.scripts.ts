import { SERVER_TIME } from '../lua/hand-off.js';
import { acquireAnswer, GRANTED, inspection, LOST, releaseAnswer } from '../lua/answers.js';
import { CHECK_COUNT, CHECK_LEASE, expireOr, lower, orElse } from '../lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';
import * as hash from './read-write-hash.lua.js';
import { TURN_KEYS } from './footprint.js';
import { GIVE_TURN, WRITERS_TURN_LEFT, REMEMBER, WAITING } from './turns.lua.js';

/**
 * Free, read by others, or written by the companion → read by this owner too. Behind waiting
 * writers, only a reader that already holds the lock, or has its turn, acquires it. No lease
 * becomes shorter. A nested acquire (count > 1) never creates a hold.
 */
export const READ_ACQUIRE = defineScript({
  name: 'read-lock.acquire',
  keys: ['lock', 'prefix', ...TURN_KEYS],
  args: ['owner', 'holdCount', 'leaseMs', 'companion', 'memoryMs', 'channel'],
  numbers: ['holdCount', 'memoryMs'],
  channels: ['channel'],
  body: `
${CHECK_COUNT}
${CHECK_LEASE}
${hash.MODE}
${hash.READERS}
${hash.SHRINK}
${hash.ANNOUNCE_TO_ALL}
${SERVER_TIME}
${WAITING}
${REMEMBER}
${GIVE_TURN}
${WRITERS_TURN_LEFT}
local held = mode and redis.call('hget', lock, owner)
local left = mode and redis.call('pttl', lock) or 0
local isUnawaited = true
if not held then
  if holdCount > 1 then return ${String(LOST)} end
  isUnawaited = redis.call('exists', writers, readers, turn) == 0
  if mode == 'write' then
    if companion == '' or redis.call('hexists', lock, companion .. ':write') == 0 then
      ${hash.refuseUnheld(hash.WRITER)}
      if memoryMs > 0 then
        remember(readers, owner, memoryMs)
        -- The readers' turn is due when the write ends, also by a crash.
        redis.call('del', writersTurn)
      end
      return {left}
    end
  else
    if left == -1 then
      ${hash.refuseUnheld(hash.READER)}
    end
    if not isUnawaited and isAwaited(writers) and not redis.call('zscore', turn, owner) then
      if memoryMs > 0 then remember(readers, owner, memoryMs) end
      if not writersTurnLeft() then
        giveTurn()
        announceToAll()
      end
      if not redis.call('zscore', turn, owner) then
        return {writersTurnLeft() or 0}
      end
    end
  end
end
local key = prefix .. owner .. ':rwlock_timeout:'
if held and tonumber(held) > holdCount then shrink(owner, held, holdCount) end
if not held or redis.call('pttl', key .. holdCount) < tonumber(leaseMs) then
  redis.call('set', key .. holdCount, '1', 'px', leaseMs)
end
local stored
if not mode then
  stored = redis.pcall('hset', lock, 'mode', 'read', owner, holdCount)
elseif tonumber(held or 0) ~= holdCount then
  stored = redis.pcall('hset', lock, owner, holdCount)
end
if type(stored) == 'table' then
  if tonumber(held or 0) < holdCount then redis.call('del', key .. holdCount) end
  return stored
end
if left < tonumber(leaseMs) then
  ${expireOr(`
    if tonumber(held or 0) < holdCount then redis.call('del', key .. holdCount) end
    if not mode then redis.call('del', lock)
    elseif not held then redis.call('hdel', lock, owner)
    elseif stored then redis.call('hset', lock, owner, held) end`)}
end
-- The acquire is done by then: keys of another type must not make it fail.
if not isUnawaited then
  redis.pcall('zrem', readers, owner)
  redis.pcall('zrem', turn, owner)
end
return ${String(GRANTED)}`,
  reply: acquireAnswer,
});

/** The lock may outlive the longest lease by 10 ms: time goes on while a script runs. */
const SPARE_MS = 10;
/**
 * A release checks 8 other readers. It checks more only until it finds a lease that is long enough.
 */
const LOOKED_AT = 8;

/** Until the first write, it uses only commands that Redis allows when its memory is full. */
const LEAVE = `
local function leave()
  local mode = redis.call('hget', lock, 'mode')
  local held = mode and redis.call('hget', lock, owner)
  if not held then return 'absent' end
  if holdCount > 0 then
    ${lower('shrink(owner, held, holdCount)')}
  end
  local lease = shrink(owner, held, 0)
  local left = redis.pcall('hdel', lock, owner)
  -- A user without the right to leave still reads.
  if type(left) == 'table' then
    if lease > 0 then redis.call('set', prefix .. owner .. ':rwlock_timeout:1', '1', 'px', lease) end
    return left
  end
  -- The writer's own lease must not change.
  if mode == 'write' then return 'done' end
  -- The TTL of the lock is that of the longest lease. Only a reader with that lease leaves it too
  -- long, unless another lease is as long. A TTL that Java made shorter makes the script look at
  -- all leases.
  local ttl = redis.call('pttl', lock)
  local isLongest = lease + ${String(SPARE_MS)} >= ttl
  local enough = ttl + ${String(SPARE_MS)} >= lease and math.max(1, ttl - ${String(SPARE_MS)})
  local function look()
    return isLongest and longestLease(enough, ${String(LOOKED_AT)}) or longestLease(1, 1)
  end
  local mayLook, longest = pcall(look)
  -- The reader has left by now. For a user without the right to look, the lock is free when no
  -- field is left.
  if not mayLook then longest = 0 end
  if not mayLook and redis.call('hlen', lock) > 1 then return 'done' end
  if longest > 0 then
    if isLongest then
      local isRight = enough and longest >= enough and longest <= ttl
      -- Without that right the lock keeps writers out for longer.
      if not isRight then redis.pcall('pexpire', lock, longest) end
    end
    return 'done'
  end
  redis.call('del', lock)
  return announce(channel, '${hash.FOR_NEXT}') and 'done' or 'unannounced'
end`;

/**
 * Held by this owner → fewer holds, or released. The last live reader frees the lock and announces
 * it.
 */
export const READ_RELEASE = defineScript({
  name: 'read-lock.release',
  keys: ['lock', 'prefix'],
  args: ['owner', 'holdCount', 'channel'],
  numbers: ['holdCount'],
  channels: ['channel'],
  body: `
${hash.LONGEST_LEASE}
${hash.SHRINK}
${LEAVE}
return leave()`,
  reply: releaseAnswer,
});

/** Cancels a reader: its entry among the waiters, its turn, and its grant. */
export const READ_CANCEL = defineScript({
  name: 'read-lock.cancel',
  keys: ['lock', 'prefix', 'readers', 'turn'],
  args: ['owner', 'channel'],
  channels: ['channel'],
  body: `
local holdCount = 0
${hash.LONGEST_LEASE}
${hash.SHRINK}
${LEAVE}
redis.call('zrem', readers, owner)
local endsTurn = redis.call('zrem', turn, owner) == 1 and redis.call('exists', turn) == 0
local answer = leave()
-- The writers that let it go first need not wait any more.
if endsTurn and answer == 'absent' then announce(channel, '${hash.FOR_NEXT}') end
return answer`,
  reply: releaseAnswer,
});

/**
 * Renews the leases of each reader, and creates nothing. Takes a reader and a lease for each lock.
 */
export const READ_RENEW = defineScript({
  name: 'read-lock.renew',
  keys: [],
  args: [],
  body: `
for i = 2, #KEYS, 2 do
  if not string.find(ARGV[i], '^[1-9]%d*$') or #ARGV[i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
end
local answers = {}
for i = 1, #KEYS, 2 do
  local lock, owner, leaseMs = KEYS[i], ARGV[i], tonumber(ARGV[i + 1])
  local key = KEYS[i + 1] .. owner .. ':rwlock_timeout:'
  local held = redis.pcall('hget', lock, owner)
  ${orElse('false')}
  local isAlive = 0
  for n = 1, math.min(tonumber(held) or 0, 10000) do
    local left = redis.call('pttl', key .. n)
    if left >= 0 then
      isAlive = 1
      if left < leaseMs then redis.call('pexpire', key .. n, leaseMs) end
    end
  end
  -- Never shorter: another reader's lease, or the writer's, may be the longer one.
  if isAlive == 1 and redis.call('pttl', lock) < leaseMs then
    redis.call('pexpire', lock, leaseMs)
  end
  answers[(i + 1) / 2] = isAlive
end
return answers`,
  reply: (raw) => (Array.isArray(raw) ? raw.map((answer) => answer === 1) : undefined),
});

export const READ_INSPECT = defineScript({
  name: 'read-lock.inspect',
  keys: ['lock', 'prefix'],
  args: [],
  body: `
${hash.MODE}
${hash.READERS}
if not mode then return {0} end
local answer, isHeld = {0}, false
local fields = redis.call('hgetall', lock)
for i = 1, #fields, 2 do
  local isReader = string.find(fields[i], ${hash.READER})
  local left = isReader and leaseOf(fields[i], fields[i + 1]) or 0
  if left > 0 then
    answer[1] = math.max(answer[1], left)
    answer[#answer + 1] = fields[i]
    answer[#answer + 1] = fields[i + 1]
  end
  isHeld = isHeld or isReader or string.find(fields[i], ${hash.WRITER})
end
if not isHeld then
  return redis.error_reply('LOCKSTATE it holds something that is no read-write lock')
end
return answer`,
  reply: inspection,
});
