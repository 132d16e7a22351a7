import { fragment } from '../lua/fragment.js';
import type { AcquireAnswer } from '../../core/holding/protocol.js';
import { LARGEST_COUNT } from '../../core/api/options.js';
import { REFUSED } from '../lua/answers.js';
import { counted, numberIn, ONCE } from '../lua/once-only.js';
import { defineScript } from '../../core/redis/script.js';

/**
 * The counting semaphore on the wire is Redisson's RSemaphore: a string `name` with the free
 * permits. It is absent until they are set. An increase publishes the new number on
 * `redisson_sc:{name}` if Java accepts it: from 1 to 2^31-1.
 *
 * A request leaves a marker, which Redisson does not have. So a request that ioredis sends again
 * counts once.
 */

const MOST = String(LARGEST_COUNT);

/** The marker of an acquisition whose caller has left. */
const CANCELLED = 'cancelled';

const TELL = fragment('announce channel', 'tell')`
local function tell(free)
  if free < 1 or free > ${MOST} then return 1 end
  return announce(channel, string.format('%d', free)) and 1 or 0
end`;

/** Absent → this number of permits, for the first caller; with a TTL, unless that is 0. */
export const TRY_SET_PERMITS = defineScript({
  name: 'counting-semaphore.try-set-permits',
  keys: ['counter', 'marker'],
  args: ['permits', 'ttlMs', 'markerTtlMs', 'channel'],
  numbers: ['permits', 'ttlMs', 'markerTtlMs'],
  channels: ['channel'],
  body: `
if permits == 0 then return redis.error_reply('LOCKARG permits must not be 0') end
${ONCE}
if known then return {tonumber(known), 1} end
${numberIn('counter', 'free')}
if free then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
${TELL}
local refused
if ttlMs > 0 then refused = once(1, 'set', counter, permits, 'px', ttlMs)
else refused = once(1, 'set', counter, permits) end
return refused or {1, tell(permits)}`,
  reply: counted,
});

/**
 * Takes all of the permits or none. A caller that has left takes none. If they are not set, `ofAll`
 * becomes their number, unless it is 0.
 */
export const ACQUIRE = defineScript({
  name: 'counting-semaphore.acquire',
  keys: ['counter', 'marker'],
  args: ['permits', 'markerTtlMs', 'channel', 'ofAll'],
  numbers: ['permits', 'markerTtlMs', 'ofAll'],
  channels: ['channel'],
  body: `
if permits == 0 then return redis.error_reply('LOCKARG permits must not be 0') end
${ONCE}
if known then return known == '${CANCELLED}' and 0 or 1 end
${numberIn('counter', 'free')}
local isNew = not free and ofAll > 0
if isNew then
  redis.call('set', counter, ofAll)
  free = ofAll
end
if not free then return ${String(REFUSED.unset)} end
${TELL}
if free < permits then
  if isNew then tell(free) end
  return 0
end
local refused = once(permits, 'decrby', counter, permits)
if isNew and not refused then tell(free - permits) end
return refused or 1`,
  reply: (raw): AcquireAnswer | undefined => {
    if (raw === 1) return { kind: 'granted', fencingToken: undefined };
    if (raw === REFUSED.unset) return { kind: 'busy', remainingMs: Infinity, isUnset: true };
    return raw === 0 ? { kind: 'busy', remainingMs: Infinity } : undefined;
  },
});

/** Returns the permits of an acquisition, if there are any, and forbids it to take any later. */
export const CANCEL = defineScript({
  name: 'counting-semaphore.cancel',
  keys: ['counter', 'marker'],
  args: ['markerTtlMs', 'channel'],
  numbers: ['markerTtlMs'],
  channels: ['channel'],
  body: `
${ONCE}
if known == '${CANCELLED}' then return {0, 1} end
${numberIn('counter', 'free')}
-- A counter that was deleted, or expired by its TTL, is not increased.
if not known or not free then
  local refused = once('${CANCELLED}')
  if refused then return refused end
  return {0, 1}
end
${TELL}
local taken = tonumber(known)
return once('${CANCELLED}', 'incrby', counter, taken) or {taken, tell(free + taken)}`,
  reply: counted,
});

/**
 * More or fewer permits. Creates the counter unless `onlyIfExists` is 1. Its TTL stays as it is.
 */
export const CHANGE = defineScript({
  name: 'counting-semaphore.change',
  keys: ['counter', 'marker'],
  args: ['more', 'fewer', 'onlyIfExists', 'markerTtlMs', 'channel'],
  numbers: ['more', 'fewer', 'onlyIfExists', 'markerTtlMs'],
  channels: ['channel'],
  body: `
${ONCE}
if known then return {tonumber(known), 1} end
${numberIn('counter', 'free')}
if not free and onlyIfExists == 1 then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
local changed = (free or 0) + more - fewer
if math.abs(changed) > ${MOST} then
  return redis.error_reply('LOCKSTATE it would count beyond ${MOST} permits')
end
${TELL}
local refused = once(1, 'incrby', counter, more - fewer)
return refused or {1, more > fewer and tell(changed) or 1}`,
  reply: counted,
});

/** Takes all free permits. A number below zero becomes zero, as in Java. */
export const DRAIN = defineScript({
  name: 'counting-semaphore.drain',
  keys: ['counter', 'marker'],
  args: ['markerTtlMs'],
  numbers: ['markerTtlMs'],
  body: `
${ONCE}
if known then return {tonumber(known), 1} end
${numberIn('counter', 'free')}
if not free or free == 0 then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
return once(free, 'decrby', counter, free) or {free, 1}`,
  reply: counted,
});

export const AVAILABLE = defineScript({
  name: 'counting-semaphore.available',
  keys: ['counter'],
  args: [],
  body: `
${numberIn('counter', 'free')}
return free or 0`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});
