import { CHECK_LEASE } from '../lua/hash-lock.js';
import { LARGEST_COUNT } from '../../core/api/options.js';
import { counted, ONCE } from '../lua/once-only.js';
import { defineScript, type RawReply } from '../../core/redis/script.js';
import { EXPIRED, FREE, IDS, NO_LEASE, NOW, TELL_FREE } from './permits.scripts.js';

/** The permits of a semaphore, free and held. */
export interface PermitCounts {
  /** Negative while more permits are in use than a lowered capacity allows. */
  readonly available: number;
  readonly acquired: number;
  readonly capacity: number;
}

/**
 * Lua for a script that may have freed permits. Returns whether the waiters received their wake-up.
 */
const TELL = `
local function tell()
  return (free < 1 or ${TELL_FREE}) and 1 or 0
end`;

/** The scripts that change the number of permits, or of free permits. */
const CHANGING = {
  keys: ['counter', 'leases', 'marker'],
  args: ['permits', 'markerTtlMs', 'channel'],
  channels: ['channel'],
  reply: counted,
} as const;

/** Permits whose lease is over count as free. The next acquisition takes them back. */
export const LOOK = defineScript({
  name: 'semaphore.look',
  keys: ['counter', 'leases'],
  args: [],
  body: `
${NOW}
${FREE}
local used = redis.call('zcard', leases)
local expired = ${EXPIRED}
if not free then return {0, used - expired, 0} end
return {free + expired, used - expired, free + used}`,
  reply: counts,
});

/** A semaphore that has lost its counter keeps its leases: they are part of the new number. */
export const TRY_SET = defineScript({
  name: 'semaphore.try-set',
  ...CHANGING,
  numbers: ['permits', 'markerTtlMs'],
  body: `
${ONCE}
if known then return {1, 1} end
${FREE}
if free then return {0, 1} end
free = permits - redis.call('zcard', leases)
${TELL}
return once(1, 'set', counter, string.format('%.0f', free)) or {1, tell()}`,
});

/** A call that arrives late must not undo a newer one. */
export const SET = defineScript({
  name: 'semaphore.set',
  ...CHANGING,
  numbers: ['permits', 'markerTtlMs'],
  body: `
${ONCE}
if known then return {1, 1} end
${FREE}
local more = permits - (free or 0) - redis.call('zcard', leases)
free = (free or 0) + more
${TELL}
local refused = once(1, 'incrby', counter, string.format('%.0f', more))
return refused or {1, more > 0 and tell() or 1}`,
});

export const ADD = defineScript({
  name: 'semaphore.add',
  ...CHANGING,
  numbers: ['markerTtlMs'],
  body: `
if not string.find(permits, '^%-?%d+$') or #permits > 15 then
  return redis.error_reply('LOCKARG permits is not a whole number')
end
permits = tonumber(permits)
${ONCE}
if known then return {1, 1} end
${FREE}
free = (free or 0) + permits
if math.abs(free + redis.call('zcard', leases)) > ${String(LARGEST_COUNT)} then
  return redis.error_reply('LOCKSTATE it would have more permits than a Java service can count')
end
${TELL}
local refused = once(1, 'incrby', counter, string.format('%.0f', permits))
return refused or {1, permits > 0 and tell() or 1}`,
});

/** All of them → free and announced. None, if one of them is not held. */
export const RELEASE_PERMITS = defineScript({
  name: 'semaphore.release-permits',
  ...CHANGING,
  numbers: ['markerTtlMs'],
  body: `
${IDS}
${ONCE}
if known then return {1, 1} end
${NOW}
${FREE}
local entries = {}
for i = 1, #ids do
  local ends = redis.call('zscore', leases, ids[i])
  if not ends or tonumber(ends) <= now then return {0, 1} end
  entries[2 * i - 1] = ends
  entries[2 * i] = ids[i]
end
${TELL}
-- ZREM comes first: Redis allows it when its memory is full, and then also the rest.
local removed = redis.call('zrem', leases, unpack(ids))
if not free then
  local refused = once(1)
  if refused then return refused end
  return {1, 1}
end
free = free + removed
local refused = once(1, 'incrby', counter, removed)
-- A user without the right to count must not lose them.
if refused then redis.call('zadd', leases, unpack(entries)) end
return refused or {1, tell()}`,
});

/**
 * In no place any more, though the lease ran → free again and announced, up to `capacity` in all.
 * Redis has evicted the leases, for example. An owner that released them by their ids has counted
 * them.
 */
export const RESTORE = defineScript({
  name: 'semaphore.restore',
  keys: CHANGING.keys,
  args: [...CHANGING.args, 'capacity'],
  channels: CHANGING.channels,
  numbers: ['markerTtlMs', 'capacity'],
  body: `
${IDS}
${ONCE}
if known then return {1, 1} end
${FREE}
local missing = 0
for i = 1, #ids do
  if not redis.call('zscore', leases, ids[i]) then missing = missing + 1 end
end
missing = math.min(missing, capacity - (free or capacity) - redis.call('zcard', leases))
if missing < 1 then return {0, 1} end
free = free + missing
${TELL}
return once(1, 'incrby', counter, string.format('%.0f', missing)) or {1, tell()}`,
  reply: counted,
});

/** The rest of one permit's lease (ms); -1 if it has no lease, 0 if it is over. */
const REMAINING = `
${IDS}
${NOW}
local ends = redis.call('zscore', leases, ids[1])
local remaining = 0
if ends then remaining = math.max(0, tonumber(ends) - now) end
if ends and tonumber(ends) >= ${NO_LEASE} then remaining = -1 end`;

export const UPDATE_LEASE = defineScript({
  name: 'semaphore.update-lease',
  keys: ['leases'],
  args: ['permits', 'leaseMs'],
  body: `
${CHECK_LEASE}
${REMAINING}
if remaining == 0 then return 0 end
redis.call('zadd', leases, 'xx', string.format('%.0f', now + tonumber(leaseMs)), ids[1])
return 1`,
  reply: (raw) => (raw === 1 || raw === 0 ? raw === 1 : undefined),
});

export const LEASE_TIME = defineScript({
  name: 'semaphore.lease-time',
  keys: ['leases'],
  args: ['permits'],
  body: `
${REMAINING}
return remaining`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});

function counts(raw: RawReply): PermitCounts | undefined {
  if (typeof raw !== 'object') return undefined;
  const [available, acquired, capacity] = raw;
  const isKnown =
    typeof available === 'number' && typeof acquired === 'number' && typeof capacity === 'number';
  return isKnown ? { available, acquired, capacity } : undefined;
}
