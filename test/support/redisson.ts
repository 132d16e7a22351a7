import type { Redis } from 'ioredis';

/** The client id of a Java service, in the form that Redisson gives it. */
export const FOREIGN_CLIENT = '0e7fa2a4-9d42-4c2a-9f57-0d5b3f6f1c11';
export const FOREIGN_OWNER = `${FOREIGN_CLIENT}:53`;

/** A Java service with Redisson's RLock, in bare Redis commands. */
export const redisson = {
  /** Resolves with null when it got the lock, or else with what is left of the present lease. */
  async tryLock(redis: Redis, key: string, leaseMs = 30_000): Promise<number | null> {
    const isFree = (await redis.exists(key)) === 0;
    const isOurs = (await redis.hexists(key, FOREIGN_OWNER)) === 1;
    if (!isFree && !isOurs) return redis.pttl(key);
    await redis.multi().hincrby(key, FOREIGN_OWNER, 1).pexpire(key, leaseMs).exec();
    return null;
  },

  async unlock(redis: Redis, key: string): Promise<void> {
    const isOurs = (await redis.hexists(key, FOREIGN_OWNER)) === 1;
    if (!isOurs) throw new Error('attempt to unlock lock, not locked by current thread');
    if ((await redis.hincrby(key, FOREIGN_OWNER, -1)) > 0) return;
    await redis.multi().del(key).publish(channelOf(key), '0').exec();
  },
};

/** Where a release of the key is announced. */
export function channelOf(key: string): string {
  return key.includes('{') ? `redisson_lock__channel:${key}` : `redisson_lock__channel:{${key}}`;
}
