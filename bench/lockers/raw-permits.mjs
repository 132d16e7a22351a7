// Redisson's protocol for a semaphore whose permits are leases, written by hand
// without anything that makes it safe.
import { randomBytes } from 'node:crypto';
import { openRaw } from './raw-client.mjs';

export const label = 'raw';

const ACQUIRE = `
local counter, leases, channel = KEYS[1], KEYS[2], KEYS[3]
local ends, now, id = ARGV[1], ARGV[2], ARGV[3]
local over = redis.call('zrangebyscore', leases, 0, now, 'limit', 0, 1)
if #over > 0 then
  redis.call('zrem', leases, unpack(over))
  local value = redis.call('incrby', counter, #over)
  if value > 0 then redis.call('publish', channel, value) end
end
if (tonumber(redis.call('get', counter)) or 0) >= 1 then
  redis.call('decrby', counter, 1)
  redis.call('zadd', leases, ends, id)
  return nil
end
local first = redis.call('zrange', leases, 0, 0, 'withscores')
return first[2] and first[2] - now or 1000`;

const RELEASE = `
local counter, leases, channel, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
if redis.call('zrem', leases, id) == 0 then return 0 end
redis.call('publish', channel, redis.call('incrby', counter, 1))
return 1`;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const { client, wakeups, shas } = await openRaw(port, [ACQUIRE, RELEASE], Number);
  const [acquireSha, releaseSha] = shas;

  return {
    permits: (key, permits) => client.set(key, permits),
    async acquire(key) {
      const channel = `redisson_sc:{${key}}`;
      const keys = [key, `{${key}}:timeout`, channel];
      const id = randomBytes(16);
      await wakeups.untilGranted(channel, () => {
        const now = Date.now();
        return client.evalsha(acquireSha, 3, ...keys, now + leaseMs, now, id);
      });
      return () => client.evalsha(releaseSha, 3, ...keys, id);
    },
  };
}
