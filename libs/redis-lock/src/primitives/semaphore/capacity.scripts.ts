import { defineScript, type RawReply } from '../../core/script.js';
import { EXPIRED, FREE, IDS, NOW, TELL_FREE } from './permits.scripts.js';

/** What a semaphore has, whatever of it is in use. */
export interface PermitCounts {
  /** Negative after the capacity was made smaller than what is in use. */
  readonly available: number;
  readonly acquired: number;
  readonly capacity: number;
}

/** As long as ioredis may send a request again, by a wide margin. */
export const REQUEST_TTL_MS = 10 * 60 * 1_000;

/** A request that was sent twice gets the answer of the first time, and counts once. */
const ANSWERED = `
local answered = redis.call('get', request)
if answered then return tonumber(answered) end`;

const remember = (answer: number) =>
  `redis.call('set', request, '${String(answer)}', 'px', requestTtlMs)`;

/** Permits whose lease is over count as free; the next one to acquire takes them back. */
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

/** Leases of a semaphore whose counter was lost go on, and are part of what it has. */
export const TRY_SET = defineScript({
  name: 'semaphore.try-set',
  keys: ['counter', 'leases', 'request'],
  args: ['permits', 'requestTtlMs', 'channel'],
  numbers: ['permits', 'requestTtlMs'],
  channels: ['channel'],
  body: `
${ANSWERED}
${FREE}
if free then return 0 end
${remember(1)}
free = permits - redis.call('zcard', leases)
redis.call('set', counter, string.format('%.0f', free))
if free > 0 then ${TELL_FREE} end
return 1`,
  reply: yesOrNo,
});

export const SET = defineScript({
  name: 'semaphore.set',
  keys: ['counter', 'leases'],
  args: ['permits', 'channel'],
  numbers: ['permits'],
  channels: ['channel'],
  body: `
${FREE}
local more = permits - (free or 0) - redis.call('zcard', leases)
if more ~= 0 or not free then free = redis.call('incrby', counter, string.format('%.0f', more)) end
if more > 0 and free > 0 then ${TELL_FREE} end
return 1`,
  reply: yesOrNo,
});

export const ADD = defineScript({
  name: 'semaphore.add',
  keys: ['counter', 'leases', 'request'],
  args: ['permits', 'requestTtlMs', 'channel'],
  numbers: ['requestTtlMs'],
  channels: ['channel'],
  body: `
if not string.find(permits, '^%-?%d+$') or #permits > 15 then
  return redis.error_reply('LOCKARG permits is not a whole number')
end
${ANSWERED}
${FREE}
local capacity = (free or 0) + redis.call('zcard', leases) + tonumber(permits)
if math.abs(capacity) > 2147483647 then
  return redis.error_reply('LOCKSTATE it would have more permits than a Java service can count')
end
${remember(1)}
free = redis.call('incrby', counter, string.format('%.0f', tonumber(permits)))
if tonumber(permits) > 0 and free > 0 then ${TELL_FREE} end
return 1`,
  reply: yesOrNo,
});

/** All of them → free and announced; or none, if one of them is not held. */
export const RELEASE = defineScript({
  name: 'semaphore.release',
  keys: ['counter', 'leases', 'request'],
  args: ['permits', 'requestTtlMs', 'channel'],
  numbers: ['requestTtlMs'],
  channels: ['channel'],
  body: `
${IDS}
${ANSWERED}
${NOW}
${FREE}
for i = 1, #ids do
  local ends = redis.call('zscore', leases, ids[i])
  if not ends or tonumber(ends) <= now then return 0 end
end
local removed = redis.call('zrem', leases, unpack(ids))
if free then free = redis.call('incrby', counter, removed) end
${remember(1)}
if free and free > 0 then ${TELL_FREE} end
return 1`,
  reply: yesOrNo,
});

/** What is left of one permit's lease; -1 if it never ends, 0 if it is over. */
const REMAINING = `
${IDS}
${NOW}
local ends = redis.call('zscore', leases, ids[1])
local remaining = 0
if ends then remaining = math.max(0, tonumber(ends) - now) end
if ends and tonumber(ends) >= 922337203685477 then remaining = -1 end`;

export const UPDATE_LEASE = defineScript({
  name: 'semaphore.update-lease',
  keys: ['leases'],
  args: ['permits', 'leaseMs'],
  numbers: ['leaseMs'],
  body: `
if leaseMs == 0 then return redis.error_reply('LOCKARG leaseMs must not be 0') end
${REMAINING}
if remaining == 0 then return 0 end
redis.call('zadd', leases, 'xx', string.format('%.0f', now + leaseMs), ids[1])
return 1`,
  reply: yesOrNo,
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

function yesOrNo(raw: RawReply): boolean | undefined {
  return raw === 1 || raw === 0 ? raw === 1 : undefined;
}

function counts(raw: RawReply): PermitCounts | undefined {
  if (typeof raw !== 'object') return undefined;
  const [available, acquired, capacity] = raw;
  const isKnown =
    typeof available === 'number' && typeof acquired === 'number' && typeof capacity === 'number';
  return isKnown ? { available, acquired, capacity } : undefined;
}
