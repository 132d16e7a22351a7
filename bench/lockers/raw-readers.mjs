// Redisson's protocol for the reading side of a read-write lock, written by hand
// without anything that makes it safe.
import { openRaw } from './raw-client.mjs';

export const label = 'raw';

const ACQUIRE = `
local lock, timeout, lease, reader, writer = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local mode = redis.call('hget', lock, 'mode')
if not mode then
  redis.call('hset', lock, 'mode', 'read')
  redis.call('hset', lock, reader, 1)
  redis.call('set', timeout .. ':1', 1)
  redis.call('pexpire', timeout .. ':1', lease)
  redis.call('pexpire', lock, lease)
  return nil
end
if mode == 'read' or redis.call('hexists', lock, writer) == 1 then
  local hold = timeout .. ':' .. redis.call('hincrby', lock, reader, 1)
  redis.call('set', hold, 1)
  redis.call('pexpire', hold, lease)
  redis.call('pexpire', lock, math.max(redis.call('pttl', lock), lease))
  return nil
end
return redis.call('pttl', lock)`;

const RELEASE = `
local lock, timeout, prefix, reader, channel = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local mode = redis.call('hget', lock, 'mode')
if not mode then
  redis.call('publish', channel, '0')
  return nil
end
if redis.call('hexists', lock, reader) == 0 then return nil end
local count = redis.call('hincrby', lock, reader, -1)
if count == 0 then redis.call('hdel', lock, reader) end
redis.call('del', timeout .. ':' .. (count + 1))
if redis.call('hlen', lock) > 1 then
  local longest = -3
  for _, field in ipairs(redis.call('hkeys', lock)) do
    local holds = tonumber(redis.call('hget', lock, field))
    if type(holds) == 'number' then
      for i = holds, 1, -1 do
        local left = redis.call('pttl', prefix .. ':' .. field .. ':rwlock_timeout:' .. i)
        longest = math.max(left, longest)
      end
    end
  end
  if longest > 0 then
    redis.call('pexpire', lock, longest)
    return 0
  end
  if mode == 'write' then return 0 end
end
redis.call('del', lock)
redis.call('publish', channel, '0')
return 1`;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const { client, wakeups, shas, newOwner } = await openRaw(port, [ACQUIRE, RELEASE]);
  const [acquireSha, releaseSha] = shas;

  return {
    async acquire(key) {
      const reader = newOwner();
      const channel = `redisson_rwlock:{${key}}`;
      const timeout = `{${key}}:${reader}:rwlock_timeout`;
      await wakeups.untilGranted(channel, () =>
        client.evalsha(acquireSha, 2, key, timeout, leaseMs, reader, `${reader}:write`),
      );
      return () => client.evalsha(releaseSha, 3, key, timeout, `{${key}}`, reader, channel);
    },
  };
}
