import { acquireAnswer, GRANTED, inspection, LOST, releaseAnswer } from '../lua/answers.js';
import { CHECK_COUNT, CHECK_LEASE, expireOr, orElse } from '../lua/hash-lock.js';
import type { ReleaseAnswer } from '../../core/holding/protocol.js';
import { defineScript, type RawReply } from '../../core/redis/script.js';
import * as hash from './read-write-hash.lua.js';

/**
 * Scripts of one key each, for a slot that is moving to another node. The lock and a reader's lease
 * may be on different nodes. So none of them considers a reader dead, or reads the queues. A count
 * becomes smaller only with the last lease: every script accepts a count that is too large.
 */

/** Lua that acquires for `field`, with its count in `held`; `mode` is nil if the lock is free. */
const write = (as: string) => `
local left = mode and redis.call('pttl', lock) or 0
if not mode then
  redis.call('hset', lock, 'mode', '${as}', field, holdCount)
elseif not held or tonumber(held) < holdCount then
  redis.call('hset', lock, field, holdCount)
end
if left < tonumber(leaseMs) then
  ${expireOr(`if not mode then redis.call('del', lock) elseif not held then redis.call('hdel', lock, field) end`)}
end
return ${String(GRANTED)}`;

/** Free, or held by this writer → held by this writer. */
export const WRITE_ACQUIRE_ALONE = defineScript({
  name: 'write-lock.acquire-alone',
  keys: ['lock'],
  args: ['owner', 'leaseMs'],
  body: `
${CHECK_LEASE}
${hash.MODE}
local field, holdCount = owner .. ':write', 1
local held = mode == 'write' and redis.call('hget', lock, field)
if mode and not held then
  ${hash.refuseUnheld()}
  return {redis.call('pttl', lock)}
end
${write('write')}`,
  reply: acquireAnswer,
});

/**
 * Free, read, or written by the companion → read by this owner too, which already has its lease.
 */
export const READ_ACQUIRE_ALONE = defineScript({
  name: 'read-lock.acquire-alone',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'leaseMs', 'companion'],
  numbers: ['holdCount'],
  body: `
${CHECK_COUNT}
${CHECK_LEASE}
${hash.MODE}
local field = owner
local held = mode and redis.call('hget', lock, field)
if not held then
  if holdCount > 1 then return ${String(LOST)} end
  local isOurs = companion ~= '' and redis.call('hexists', lock, companion .. ':write') == 1
  if mode == 'write' and not isOurs then
    ${hash.refuseUnheld(hash.WRITER)}
    return {redis.call('pttl', lock)}
  end
end
${write('read')}`,
  reply: acquireAnswer,
});

/** The answer about a hold, and the number of its leases. */
export interface Left {
  readonly answer: ReleaseAnswer;
  readonly leases: number;
}

/** More holds than any reader has: a corrupt count must not stop Redis. */
const COUNT = `math.min(tonumber(held) or 0, 10000)`;

/** Held by this owner → released. Other fields read on. With the last one the lock is free. */
export const RELEASE_ALONE = defineScript({
  name: 'read-write-lock.release-alone',
  keys: ['lock'],
  args: ['field', 'holdCount', 'channel'],
  numbers: ['holdCount'],
  channels: ['channel'],
  body: `
${hash.ANNOUNCE_TO_ALL}
local held = redis.call('hget', lock, field)
if not held then return {'absent', 0} end
if holdCount > 0 then return {'done', 0} end
local leases = ${COUNT}
local isWriter = string.find(field, ${hash.WRITER})
if redis.call('hlen', lock) > 2 then
  redis.call('hdel', lock, field)
  if not isWriter then return {'done', leases} end
  redis.call('hset', lock, 'mode', 'read')
else
  redis.call('del', lock)
end
local isTold
if isWriter then isTold = announceToAll() else isTold = announce(channel, '${hash.FOR_NEXT}') end
return {isTold and 'done' or 'unannounced', leases}`,
  reply: (raw): Left | undefined => {
    const [word, leases] = typeof raw === 'object' ? raw : [];
    const answer = word === undefined ? undefined : releaseAnswer(word);
    return answer === undefined || typeof leases !== 'number' ? undefined : { answer, leases };
  },
});

/** Renews the lock for a reader. Returns the number of its leases, 0 if it does not read. */
export const READ_RENEW_ALONE = defineScript({
  name: 'read-lock.renew-alone',
  keys: ['lock'],
  args: ['owner', 'leaseMs'],
  body: `
${CHECK_LEASE}
local held = redis.pcall('hget', lock, owner)
${orElse('false')}
if not held then return 0 end
if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
return ${COUNT}`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});

/** Renews a reader's lease. Returns whether it exists; with `creates` it always does. */
export const LEASE_ALONE = defineScript({
  name: 'read-lock.lease-alone',
  keys: ['lease'],
  args: ['leaseMs', 'creates'],
  numbers: ['creates'],
  body: `
${CHECK_LEASE}
local left = redis.call('pttl', lease)
if left >= 0 then
  if left < tonumber(leaseMs) then redis.call('pexpire', lease, leaseMs) end
  return 1
end
if creates == 0 then return 0 end
redis.call('set', lease, '1', 'px', leaseMs)
return 1`,
  reply: (raw: RawReply) => (raw === 1 || raw === 0 ? raw === 1 : undefined),
});

/** Dead readers count as readers here while others renew the lock. */
export const READ_INSPECT_ALONE = defineScript({
  name: 'read-lock.inspect-alone',
  keys: ['lock'],
  args: [],
  body: `
${hash.BEGIN_INSPECTION}
local answer = {0}
for _, field in ipairs(redis.call('hkeys', lock)) do
  if string.find(field, ${hash.READER}) then
    answer[1] = redis.call('pttl', lock)
    answer[#answer + 1] = field
    answer[#answer + 1] = redis.call('hget', lock, field)
  end
end
return answer`,
  reply: inspection,
});
