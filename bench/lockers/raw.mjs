// Redisson's protocol for a reentrant lock, written by hand without anything that makes it safe. Each
// call is a script. A release publishes a message, and one waiter of each process then tries again.
import { openRaw } from './raw-client.mjs';

export const label = 'raw';

const ACQUIRE = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`;

const RENEW = `
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[1])`;

const RELEASE = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], '0')
return 1`;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const { client, wakeups, shas, newOwner } = await openRaw(port, [ACQUIRE, RENEW, RELEASE]);
  const [acquireSha, renewSha, releaseSha] = shas;

  return {
    async acquire(key) {
      const owner = newOwner();
      const channel = `redisson_lock__channel:{${key}}`;
      await wakeups.untilGranted(channel, () => client.evalsha(acquireSha, 1, key, leaseMs, owner));
      return () => client.evalsha(releaseSha, 1, key, owner, channel);
    },
    async hold(key) {
      const owner = newOwner();
      await client.evalsha(acquireSha, 1, key, leaseMs, owner);
      setInterval(() => client.evalsha(renewSha, 1, key, leaseMs, owner), leaseMs / 3);
    },
  };
}
