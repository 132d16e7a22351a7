import { counted, numberIn, ONCE } from '../lua/once-only.js';
import { defineScript } from '../../core/redis/script.js';

/**
 * The latch on the wire is Redisson's RCountDownLatch: a string `name` with the remaining count. It
 * is absent once the count is zero. When it opens or is deleted, `0` is published, and `1` when it
 * is set.
 *
 * A request leaves a marker, which Redisson does not have. So a request that ioredis sends again
 * counts once.
 */

/** Absent → this count, for the first caller. */
export const TRY_SET_COUNT = defineScript({
  name: 'latch.try-set-count',
  keys: ['latch', 'marker'],
  args: ['count', 'markerTtlMs', 'channel'],
  numbers: ['count', 'markerTtlMs'],
  channels: ['channel'],
  body: `
if count == 0 then return redis.error_reply('LOCKARG count must not be 0') end
${ONCE}
if known then return {tonumber(known), 1} end
${numberIn('latch', 'left')}
if left then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end
local refused = once(1, 'set', latch, count)
if refused then return refused end
return {1, announce(channel, '1') and 1 or 0}`,
  reply: counted,
});

const CHANGING = {
  keys: ['latch', 'marker'],
  args: ['markerTtlMs', 'channel'],
  numbers: ['markerTtlMs'],
  channels: ['channel'],
  reply: counted,
} as const;

/**
 * Lua that ends a script here when the latch is open. Otherwise the remaining count is in `left`.
 */
const UNLESS_OPEN = `
${ONCE}
if known then return {tonumber(known), 1} end
${numberIn('latch', 'left')}
if not left then
  local refused = once(0)
  if refused then return refused end
  return {0, 1}
end`;

/** One less. The last one deletes the key and announces it. An absent latch stays absent. */
export const COUNT_DOWN = defineScript({
  name: 'latch.count-down',
  ...CHANGING,
  body: `${UNLESS_OPEN}
if left > 1 then
  local refused = once(left - 1, 'decr', latch)
  return refused or {left - 1, 1}
end
local refused = once(0, 'del', latch)
if refused then return refused end
if left < 1 then return {0, 1} end
return {0, announce(channel, '0') and 1 or 0}`,
});

export const GET_COUNT = defineScript({
  name: 'latch.get-count',
  keys: ['latch'],
  args: [],
  body: `
${numberIn('latch', 'left')}
return math.max(0, left or 0)`,
  reply: (raw) => (typeof raw === 'number' && raw >= 0 ? raw : undefined),
});

/**
 * An absent latch is open, so the message is `0`. Redisson publishes `1`, which does not wake its
 * own waiters. Sending both does not help: some waiters of Redisson 3.16 then sleep on.
 */
export const DELETE = defineScript({
  name: 'latch.delete',
  ...CHANGING,
  body: `${UNLESS_OPEN}
local refused = once(1, 'del', latch)
if refused then return refused end
return {1, announce(channel, '0') and 1 or 0}`,
});
