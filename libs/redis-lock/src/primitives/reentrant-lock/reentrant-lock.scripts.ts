import { takeToken } from '../../core/fencing-token.js';
import {
  enterAnswer,
  fencedAnswer,
  GRANTED,
  leaveAnswer,
  LOST,
  REFUSE_OTHERS,
} from '../../core/hash-lock.js';
import { defineScript } from '../../core/script.js';

/**
 * The lock on the wire is Redisson's RLock: a hash `name` with one field, owner → hold count, and a
 * TTL; releases are published as `0` on `redisson_lock__channel:{name}`.
 *
 * Unlike there, no script counts up or down. Each names the count it wants, so that a script which
 * ioredis sends again after a cut changes nothing.
 */

/**
 * Free or ours → ours, with this count and at least this lease. The TTL is set in the step that
 * creates the key. A nested entry (count > 1) never creates: if the owner is gone, the hold is lost.
 */
const enter = (token: string, granted: string) => `
if holdCount == 0 or leaseMs == 0 then
  return redis.error_reply('LOCKARG holdCount and leaseMs must not be 0')
end
local held = redis.call('hget', lock, owner)
if not held then
  if holdCount > 1 then return ${String(LOST)} end
  if redis.call('exists', lock) == 1 then
    ${REFUSE_OTHERS}
    return {redis.call('pttl', lock)}
  end
end
${token}
if not held then
  redis.call('hset', lock, owner, holdCount)
  local expiry = redis.pcall('pexpire', lock, leaseMs)
  -- A user without the right to expire keys must not leave a lock that never ends.
  if type(expiry) == 'table' then
    redis.call('del', lock)
    return expiry
  end
else
  if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
  if redis.call('pttl', lock) < leaseMs then redis.call('pexpire', lock, leaseMs) end
end
return ${granted}`;

export const ENTER = defineScript({
  name: 'reentrant.enter',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'leaseMs'],
  numbers: ['holdCount', 'leaseMs'],
  body: enter('', String(GRANTED)),
  reply: enterAnswer,
});

/**
 * As ENTER, with a token that is larger than every one before. The server's time as its floor keeps
 * that true when the counter was lost. An entry that was sent twice gets the token of the first.
 */
export const ENTER_FENCED = defineScript({
  name: 'reentrant.enter-fenced',
  keys: ['lock', 'token'],
  args: ['owner', 'holdCount', 'leaseMs', 'tokenTtlMs'],
  numbers: ['holdCount', 'leaseMs', 'tokenTtlMs'],
  body: enter(takeToken('not held or tonumber(held) ~= holdCount'), 'fence'),
  reply: fencedAnswer,
});

/** Ours → fewer, or free and announced. Only commands that Redis allows when its memory is full. */
export const LEAVE = defineScript({
  name: 'reentrant.leave',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'channel'],
  numbers: ['holdCount'],
  channels: ['channel'],
  body: `
local held = redis.call('hget', lock, owner)
if not held then return 'absent' end
if holdCount > 0 then
  if tonumber(held) > holdCount then
    local counted = redis.pcall('hset', lock, owner, holdCount)
    -- With its memory full Redis refuses to write even a smaller number: the next step sets it right.
    if type(counted) == 'table' and not string.find(counted.err, 'OOM', 1, true) then
      return counted
    end
  end
  return 'done'
end
redis.call('del', lock)
return announce(channel, '0') and 'done' or 'unannounced'`,
  reply: leaveAnswer,
});
