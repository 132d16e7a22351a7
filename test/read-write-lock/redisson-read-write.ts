import type { Redis } from 'ioredis';
import { FOREIGN_OWNER } from '../support/redisson.js';

/** In one slot with the key. */
const tagged = (key: string) => (key.includes('{') ? key : `{${key}}`);

export function channelOf(key: string): string {
  return `redisson_rwlock:${tagged(key)}`;
}

/** The key of one hold of a reader. */
export function timeoutKey(key: string, owner: string, hold: number): string {
  return `${tagged(key)}:${owner}:rwlock_timeout:${String(hold)}`;
}

const LEASES_S = [1, 3, 5, 10, 20, 30, 40, 60, 7 * 24 * 60 * 60];

/** The lease that is running down, in seconds. A machine that is busy may take a while to look. */
export function leaseOf(pttl: number): number {
  return LEASES_S.find((seconds) => pttl >= 0 && pttl <= seconds * 1_000) ?? pttl;
}

const TRY_READ = `
if redis.call('hget', KEYS[1], 'mode') == 'write' then return 0 end
redis.call('hset', KEYS[1], 'mode', 'read', ARGV[1], 1)
redis.call('set', KEYS[2], 1, 'px', 30000)
return redis.call('pexpire', KEYS[1], 30000)`;

/** A thread of a Java service that reads; each call is 1 script or transaction, as in Redisson. */
export const javaReader = {
  async tryLock(redis: Redis, key: string): Promise<boolean> {
    const keys = [key, timeoutKey(key, FOREIGN_OWNER, 1)];
    return (await redis.eval(TRY_READ, keys.length, ...keys, FOREIGN_OWNER)) === 1;
  },

  /** It was the last reader. */
  async unlock(redis: Redis, key: string): Promise<void> {
    const keys = [key, timeoutKey(key, FOREIGN_OWNER, 1)];
    await redis
      .multi()
      .del(...keys)
      .publish(channelOf(key), '0')
      .exec();
  },
};
