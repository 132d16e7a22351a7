import { fragment } from './fragment.js';
import type { Renewal } from '../../core/holding/protocol.js';
import type { RedisConnection, Reply } from '../../core/redis/connection.js';
import { defineScript } from '../../core/redis/script.js';
import { DONE, inspection, LOST, releaseAnswer } from './answers.js';
import { fencedPair } from './fencing-token.js';

/**
 * The locks that are a hash with one field on the wire, owner → hold count: Redisson's RLock and
 * RFairLock. RLock is this hash `name` with a TTL. Its releases are published as `0` on
 * `redisson_lock__channel:{name}`.
 *
 * Redisson's scripts count up and down; these do not. Each names the count that it wants. So a
 * script that ioredis sends again after a cut changes nothing.
 */

/** The commands that the scripts of such a lock need. */
export const HASH_COMMANDS = [
  ...(['del', 'exists', 'hexists', 'hget', 'hkeys'] as const),
  ...(['hlen', 'hset', 'pexpire', 'pttl'] as const),
] as const;

/**
 * Lua that refuses a lease that is no number or 0, before anything is written. The lease stays a
 * text: Redis would convert every number of Lua into one.
 */
export const CHECK_LEASE = fragment('leaseMs', '')`
if not string.find(leaseMs, '^[1-9]%d*$') or #leaseMs > 15 then
  return redis.error_reply('LOCKARG leaseMs is not a whole number above 0')
end`;

/** Lua that refuses a hold count of 0, before anything is written. */
export const CHECK_COUNT = fragment('holdCount', '')`
if holdCount == 0 then return redis.error_reply('LOCKARG holdCount must not be 0') end`;

/**
 * Lua that sets the lease of the lock. If Redis refuses, it runs `undo` and answers the refusal.
 */
export const expireOr = (undo: string) => `local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never expires.
if type(expiry) == 'table' then
  ${undo}
  return expiry
end`;

const refuseUnless = (isLock: string) => `
if not (${isLock}) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end`;
/**
 * A lock has one field, its owner, with a count. A script neither waits for another hash nor
 * deletes it. Sets `holder` to the owner.
 */
export const REFUSE_OTHERS = fragment('lock', 'holder isHeld')`
local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')
${refuseUnless(`isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')`)}`;
/** As `REFUSE_OTHERS`, by the name of the field alone. Needs `fields`, the number of fields. */
export const REFUSE_OTHERS_OF = refuseUnless(
  `fields == 1 and string.find(redis.call('hkeys', lock)[1], ':%-?%d+$')`,
);

/**
 * Lua that sets `left` to the rest of the lease (ms), or nil if the lock is free. It sets `held` to
 * the owner's hold count.
 */
export const LOOK = fragment('lock owner', 'held left')`
local left = redis.call('pttl', lock)
local held
if left == -2 then left = nil else held = redis.call('hget', lock, owner) end`;

/** Lua that makes the owner hold a free lock. */
export const CREATE = fragment('leaseMs lock owner', 'expiry')`
redis.call('hset', lock, owner, '1')
${expireOr(`redis.call('del', lock)`)}`;

/**
 * Free or held by this owner → held once, with at least this lease. The script that creates the key
 * sets its TTL.
 */
export const ACQUIRE = fencedPair({
  name: 'hash-lock.acquire',
  keys: ['lock'],
  args: ['owner', 'leaseMs'],
  isNew: `held ~= '1'`,
  body: (token, granted) => `
${CHECK_LEASE}
${LOOK}
if left and not held then
  ${REFUSE_OTHERS}
  return {left}
end
${token}
if not held then
  ${CREATE}
else
  if held ~= '1' then redis.call('hset', lock, owner, '1') end
  if left < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
end
return ${granted}`,
});

/**
 * Held by this owner → held with this count, and at least this lease. `owner` is the field. It
 * never creates: without the owner's field, the hold is lost.
 */
export const ACQUIRE_NESTED = fencedPair({
  name: 'hash-lock.acquire-nested',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'leaseMs'],
  numbers: ['holdCount'],
  isNew: 'tonumber(held) ~= holdCount',
  body: (token, granted) => `
${CHECK_COUNT}
${CHECK_LEASE}
local held = redis.call('hget', lock, owner)
if not held then return ${String(LOST)} end
${token}
if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
return ${granted}`,
});

/**
 * Held by this owner → free and announced. Uses only commands that Redis allows when its memory is
 * full.
 */
export const RELEASE = defineScript({
  name: 'hash-lock.release',
  keys: ['lock'],
  args: ['owner', 'channel'],
  channels: ['channel'],
  body: `
if not redis.call('hget', lock, owner) then return 'absent' end
redis.call('del', lock)
return announce(channel, '0') and ${String(DONE)} or 'unannounced'`,
  reply: releaseAnswer,
});

/**
 * Lua of a release that is not the last one: lowers the field of the owner from `held` to
 * `holdCount`.
 * @param first Lua that runs before that
 */
export const lower = (first = '') => `
if tonumber(held) > holdCount then
  ${first}
  local counted = redis.pcall('hset', lock, owner, holdCount)
  -- With its memory full Redis refuses also a smaller number: the next step sets it right.
  if type(counted) == 'table' and not string.find(counted.err, 'OOM', 1, true) then
    return counted
  end
end
return 'done'`;

/** Held by this owner → held with this count, if that is less; `owner` is the field. */
export const RELEASE_SOME = defineScript({
  name: 'hash-lock.release-some',
  keys: ['lock'],
  args: ['owner', 'holdCount'],
  numbers: ['holdCount'],
  body: `
${CHECK_COUNT}
local held = redis.call('hget', lock, owner)
if not held then return 'absent' end
${lower()}`,
  reply: releaseAnswer,
});

/** Lua: replaces `held` if the key has another type. Any other refusal of Redis is the answer. */
export const orElse = (none: string) => `if type(held) == 'table' then
  -- A key of another type has no such owner. A missing right to read says nothing.
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  held = ${none}
end`;

/**
 * Renews the lease of each owner, and creates nothing. Takes an owner for each key, then one lease
 * for all or one for each.
 */
export const RENEW = defineScript({
  name: 'hash-lock.renew',
  keys: [],
  args: [],
  body: `
local count = #KEYS
for i = count + 1, math.max(#ARGV, count + 1) do
  if not string.find(ARGV[i] or '', '^[1-9]%d*$') or #ARGV[i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
end
local answers = {}
for i = 1, count do
  local leaseMs = ARGV[count + i] or ARGV[count + 1]
  local held = redis.pcall('hexists', KEYS[i], ARGV[i])
  ${orElse('0')}
  -- Never shorter: an old renewal that arrives late must not undo a longer one.
  if held == 1 and redis.call('pttl', KEYS[i]) < tonumber(leaseMs) then
    redis.call('pexpire', KEYS[i], leaseMs)
  end
  answers[i] = held
end
return answers`,
  reply: (raw) => (Array.isArray(raw) ? raw.map((answer) => answer === 1) : undefined),
});

export function renewHashes(
  connection: RedisConnection,
  renewals: readonly Renewal[],
  minReplicas: number,
): Promise<Reply<readonly boolean[]>> {
  const keys: string[] = [];
  const owners: string[] = [];
  const leases: number[] = [];
  let isOneForAll = true;
  for (const { key, owner, renewMs } of renewals) {
    keys.push(key);
    owners.push(owner);
    leases.push(renewMs);
    isOneForAll &&= renewMs === leases[0];
  }
  // One argument costs the client as much as the rest of a renewal.
  const args = [...owners, ...(isOneForAll ? leases.slice(0, 1) : leases)];
  return connection.run(RENEW, keys, args, minReplicas);
}

export const INSPECT = defineScript({
  name: 'hash-lock.inspect',
  keys: ['lock'],
  args: [],
  body: `
if redis.call('exists', lock) == 0 then return {0} end
${REFUSE_OTHERS}
return {redis.call('pttl', lock), holder, redis.call('hget', lock, holder)}`,
  reply: inspection,
});
