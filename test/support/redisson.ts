import type { Redis } from 'ioredis';

/** The client id of a Java service, in the form that Redisson gives it. */
export const FOREIGN_CLIENT = '0e7fa2a4-9d42-4c2a-9f57-0d5b3f6f1c11';
export const FOREIGN_OWNER = `${FOREIGN_CLIENT}:53`;

const TRY_LOCK = `
local isFree, isOurs = redis.call('exists', KEYS[1]) == 0, redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not (isFree or isOurs) then return redis.call('pttl', KEYS[1]) end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return nil
`;

/** In Java an `IllegalMonitorStateException`. */
export const REFUSE = `return redis.error_reply('ERR attempt to unlock lock, not locked by current thread')`;

const UNLOCK = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then ${REFUSE} end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return end
redis.call('del', KEYS[1])
redis.call('publish', ARGV[2], '0')
`;

/** The watchdog. */
const RENEW = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;

export const LOCK_SCRIPTS = { tryLock: TRY_LOCK, unlock: UNLOCK, renew: RENEW };

/** A Java service with Redisson's RLock; what it does, it does in one script, as there. */
export const redisson = {
  /** Resolves with null when it got the lock, or else with what is left of the present lease. */
  async tryLock(redis: Redis, key: string, leaseMs = 30_000): Promise<number | null> {
    return (await redis.eval(TRY_LOCK, 1, key, FOREIGN_OWNER, leaseMs)) as number | null;
  },

  async unlock(redis: Redis, key: string): Promise<void> {
    await redis.eval(UNLOCK, 1, key, FOREIGN_OWNER, channelOf(key));
  },
};

/** In one slot with the key. */
export const tagged = (key: string) => (key.includes('{') ? key : `{${key}}`);

/** Where a release of the key is announced. */
export function channelOf(key: string): string {
  return `redisson_lock__channel:${tagged(key)}`;
}
