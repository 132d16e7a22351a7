import { takeToken } from './fencing-token.js';
import type { AcquireAnswer, Inspection, ReleaseAnswer, Renewal } from '../holding/protocol.js';
import type { RedisConnection, Reply } from '../redis/connection.js';
import { defineScript, type RawReply } from '../redis/script.js';

/**
 * What all locks share that are a hash with one field on the wire, owner → hold count, as Redisson's
 * RLock and RFairLock are; and how the scripts of all locks answer. RLock itself is this hash `name`
 * with a TTL, and its releases are published as `0` on `redisson_lock__channel:{name}`.
 *
 * Unlike there, no script counts up or down. Each names the count it wants, so that a script which
 * ioredis sends again after a cut changes nothing.
 */

/** What a script answers when it has granted, and when the owner is gone that should be there. */
export const GRANTED = 1;
export const LOST = 0;

/** Lua that refuses an entry that would hold nothing, before anything is written. */
export const CHECK_ENTRY = `
if holdCount == 0 or leaseMs == 0 then
  return redis.error_reply('LOCKARG holdCount and leaseMs must not be 0')
end`;

/** Lua that refuses a lease that would be over at once, before anything is written. */
export const CHECK_LEASE = `if leaseMs == 0 then return redis.error_reply('LOCKARG leaseMs must not be 0') end`;

/** Lua that gives the lock its lease, or answers the refusal of Redis after `undo`. */
export const expireOr = (undo: string) => `local expiry = redis.pcall('pexpire', lock, leaseMs)
-- A user without the right to expire keys must not leave a lock that never ends.
if type(expiry) == 'table' then
  ${undo}
  return expiry
end`;

/** Beside a lease that is left, that the line stands back for so long (ms). */
const STANDS_BACK = 3;

/** Lua: what those are answered who do not get it: how much is left, of the lease and of standing back. */
export const refusal = (left: string, standBackMs: string) =>
  `{${left} or ${standBackMs}, ${standBackMs} and ${String(STANDS_BACK)}, ${standBackMs}}`;

const refuseUnless = (isLock: string) => `
if not (${isLock}) then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end`;
/**
 * A lock has one field, its owner, with a count. Anything else is neither ours to wait for nor to delete.
 * Leaves the owner in `holder`.
 */
export const REFUSE_OTHERS = `
local holder = redis.call('hlen', lock) == 1 and redis.call('hkeys', lock)[1]
local isHeld = holder and string.find(holder, ':%-?%d+$')
${refuseUnless(`isHeld and string.find(redis.call('hget', lock, holder), '^%d+$')`)}`;
/** The same by the field alone, of a lock that has so many `fields`. */
export const REFUSE_OTHERS_OF = refuseUnless(
  `fields == 1 and string.find(redis.call('hkeys', lock)[1], ':%-?%d+$')`,
);

/** Lua that makes a free lock the owner's. */
export const CREATE = `
redis.call('hset', lock, owner, holdCount)
${expireOr(`redis.call('del', lock)`)}`;

/**
 * Lua of a release that is not the last one: the field of the owner, of whom `held` was read, goes down
 * to `holdCount`.
 * @param first what has to be done before it does
 */
export const fewer = (field: string, first = '') => `
if holdCount > 0 then
  if tonumber(held) > holdCount then
    ${first}
    local counted = redis.pcall('hset', lock, ${field}, holdCount)
    -- With its memory full Redis refuses to write even a smaller number: the next step sets it right.
    if type(counted) == 'table' and not string.find(counted.err, 'OOM', 1, true) then
      return counted
    end
  end
  return 'done'
end`;

/**
 * Free or ours → ours, with this count and at least this lease. The TTL is set in the step that
 * creates the key. A nested entry (count > 1) never creates: if the owner is gone, the hold is lost.
 */
const enter = (token: string, granted: string) => `
${CHECK_ENTRY}
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
  ${CREATE}
else
  if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end
  if redis.call('pttl', lock) < leaseMs then redis.call('pexpire', lock, leaseMs) end
end
return ${granted}`;

export const ACQUIRE = defineScript({
  name: 'hash-lock.acquire',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'leaseMs'],
  numbers: ['holdCount', 'leaseMs'],
  body: enter('', String(GRANTED)),
  reply: acquireAnswer,
});

/**
 * As ENTER, with a token that is larger than every one before. The server's time as its floor keeps
 * that true when the counter was lost. An entry that was sent twice gets the token of the first.
 */
export const ACQUIRE_FENCED = defineScript({
  name: 'hash-lock.acquire-fenced',
  keys: ['lock', 'token'],
  args: ['owner', 'holdCount', 'leaseMs', 'tokenTtlMs'],
  numbers: ['holdCount', 'leaseMs', 'tokenTtlMs'],
  body: enter(takeToken('not held or tonumber(held) ~= holdCount'), 'fence'),
  reply: fencedAnswer,
});

/** Ours → fewer, or free and announced. Only commands that Redis allows when its memory is full. */
export const RELEASE = defineScript({
  name: 'hash-lock.release',
  keys: ['lock'],
  args: ['owner', 'holdCount', 'channel'],
  numbers: ['holdCount'],
  channels: ['channel'],
  body: `
local held = redis.call('hget', lock, owner)
if not held then return 'absent' end
${fewer('owner')}
redis.call('del', lock)
return announce(channel, '0') and 'done' or 'unannounced'`,
  reply: releaseAnswer,
});

/**
 * For each key an owner, and then one lease for all or one for each: prolongs what its owner holds, and
 * creates nothing.
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
  if type(held) == 'table' then
    -- A key of another type is a no. That Redis may not be asked is none.
    if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
    held = 0
  end
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
  for (const { key, owner, leaseTimeMs } of renewals) {
    keys.push(key);
    owners.push(owner);
    leases.push(leaseTimeMs);
    isOneForAll &&= leaseTimeMs === leases[0];
  }
  // Each argument costs the client as much as all else that a renewal is.
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
return {redis.call('pttl', lock), holder}`,
  reply: inspection,
});

export function acquireAnswer(raw: RawReply): AcquireAnswer | undefined {
  if (raw === GRANTED) return { kind: 'granted', fencingToken: undefined };
  return refused(raw);
}

export function fencedAnswer(raw: RawReply): AcquireAnswer | undefined {
  if (typeof raw !== 'string') return refused(raw);
  const fencingToken = Number(raw);
  const isToken = Number.isSafeInteger(fencingToken) && fencingToken > 0;
  return isToken ? { kind: 'granted', fencingToken } : undefined;
}

function refused(raw: RawReply): AcquireAnswer | undefined {
  if (raw === LOST) return { kind: 'lost' };
  const [pttl, place = 0, sibling = ''] = typeof raw === 'object' ? raw : [];
  if (typeof pttl !== 'number') return undefined;
  const remainingMs = remainingOf(pttl);
  if (place === 1) return { kind: 'busy', remainingMs, isNew: true, isBehindOwn: true };
  if (place === 2) return { kind: 'busy', remainingMs, isNew: true };
  if (place === STANDS_BACK) return { kind: 'busy', remainingMs, standBackMs: Number(sibling) };
  if (sibling !== '') return { kind: 'busy', remainingMs, sibling: String(sibling) };
  return { kind: 'busy', remainingMs };
}

function inspection(raw: RawReply): Inspection | undefined {
  if (typeof raw === 'string' || typeof raw === 'number') return undefined;
  const [pttl, owner] = raw;
  if (typeof pttl !== 'number') return undefined;
  if (owner === undefined) return { remainingMs: 0, owners: [] };
  return { remainingMs: remainingOf(pttl), owners: [String(owner)] };
}

/** A key without a TTL never ends by itself. */
export function remainingOf(pttl: number): number {
  return pttl < 0 ? Infinity : pttl;
}

const LEAVE_ANSWERS = [
  ...(['done', 'passed', 'had', 'yielded'] as const),
  ...(['opened', 'unannounced', 'absent'] as const),
];

export function releaseAnswer(raw: RawReply): ReleaseAnswer | undefined {
  return LEAVE_ANSWERS.find((answer) => answer === raw);
}
