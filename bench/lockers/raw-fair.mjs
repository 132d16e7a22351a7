// Redisson's protocol for a fair lock, written by hand without anything that makes it safe. It has a
// list of waiters, a timeout for each waiter, and a channel for each waiter.
import { openRaw } from './raw-client.mjs';

export const label = 'raw';

/** The timeout in Redisson of a waiter that waits without a limit. */
const FAIR_WAIT_MS = 300_000;

const SWEEP = `
local function sweep(queue, timeouts, now)
  while true do
    local head = redis.call('lindex', queue, 0)
    if not head then return end
    local score = redis.call('zscore', timeouts, head)
    if not score or tonumber(score) > now then return end
    redis.call('zrem', timeouts, head)
    redis.call('lpop', queue)
  end
end`;

const ACQUIRE = `${SWEEP}
local lock, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]
local lease, owner, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
sweep(queue, timeouts, now)
if redis.call('exists', lock) == 0
  and (redis.call('exists', queue) == 0 or redis.call('lindex', queue, 0) == owner) then
  redis.call('lpop', queue)
  redis.call('zrem', timeouts, owner)
  for _, waiter in ipairs(redis.call('zrange', timeouts, 0, -1)) do
    redis.call('zincrby', timeouts, -wait, waiter)
  end
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('hexists', lock, owner) == 1 then
  redis.call('hincrby', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
if redis.call('zscore', timeouts, owner) then
  return math.max(0, redis.call('pttl', lock))
end
local last = redis.call('lindex', queue, -1)
local score = last and last ~= owner and redis.call('zscore', timeouts, last)
local base = score and tonumber(score) - now or redis.call('pttl', lock)
if redis.call('zadd', timeouts, base + wait + now, owner) == 1 then
  redis.call('rpush', queue, owner)
end
return base`;

const RELEASE = `${SWEEP}
local lock, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]
local lease, owner, now, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
sweep(queue, timeouts, now)
if redis.call('hexists', lock, owner) == 0 then return nil end
if redis.call('hincrby', lock, owner, -1) > 0 then
  redis.call('pexpire', lock, lease)
  return 0
end
redis.call('del', lock)
local head = redis.call('lindex', queue, 0)
if head then redis.call('publish', channel .. ':' .. head, '0') end
return 1`;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const { client, wakeups, shas, newOwner } = await openRaw(port, [ACQUIRE, RELEASE]);
  const [acquireSha, releaseSha] = shas;

  return {
    async acquire(key) {
      const owner = newOwner();
      const keys = [key, `redisson_lock_queue:{${key}}`, `redisson_lock_timeout:{${key}}`];
      const channel = `redisson_lock__channel:{${key}}`;
      await wakeups.untilGranted(`${channel}:${owner}`, () =>
        client.evalsha(acquireSha, 3, ...keys, leaseMs, owner, FAIR_WAIT_MS, Date.now()),
      );
      return () => client.evalsha(releaseSha, 3, ...keys, leaseMs, owner, Date.now(), channel);
    },
  };
}
