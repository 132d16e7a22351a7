import type { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';

import { FOREIGN_CLIENT } from './redisson.js';

/** How the permit ids of a Java service begin here, so that ours are known from them. */
export const FOREIGN_PERMIT = FOREIGN_CLIENT.slice(0, 8);

/** The score of a permit without a lease. */
export const NO_LEASE = '922337203685477';

export const timeoutOf = (key: string) =>
  key.includes('{') ? `${key}:timeout` : `{${key}}:timeout`;
export const permitChannelOf = (key: string) =>
  key.includes('{') ? `redisson_sc:${key}` : `redisson_sc:{${key}}`;

/** A Java service with Redisson's RPermitExpirableSemaphore, in bare Redis commands. */
export const redissonPermits = {
  async trySetPermits(redis: Redis, key: string, permits: number): Promise<boolean> {
    if ((await redis.exists(key)) === 1) return false;
    await redis.set(key, permits);
    await redis.publish(permitChannelOf(key), String(permits));
    return true;
  },

  /** Resolves with the ids, or with null when there are too few permits. */
  async tryAcquire(
    redis: Redis,
    key: string,
    permits = 1,
    leaseMs?: number,
  ): Promise<string[] | null> {
    await reclaim(redis, key, permits);
    if (Number(await redis.get(key)) < permits) return null;
    await redis.decrby(key, permits);
    const ids = Array.from(
      { length: permits },
      () => FOREIGN_PERMIT + randomBytes(12).toString('hex'),
    );
    const score = leaseMs === undefined ? NO_LEASE : String(Date.now() + leaseMs);
    const entries = ids.flatMap((id) => [score, Buffer.from(id, 'hex')]);
    await redis.zadd(timeoutOf(key), ...entries);
    const ttl = await redis.pttl(key);
    if (ttl > 0) await redis.pexpire(timeoutOf(key), ttl);
    return ids;
  },

  async tryRelease(redis: Redis, key: string, id: string): Promise<boolean> {
    const member = Buffer.from(id, 'hex');
    const score = await redis.zscore(timeoutOf(key), member);
    if ((await redis.zrem(timeoutOf(key), member)) === 0) return false;
    await redis.publish(permitChannelOf(key), String(await redis.incrby(key, 1)));
    return Number(score) > Date.now();
  },

  async availablePermits(redis: Redis, key: string): Promise<number> {
    await reclaim(redis, key, -1);
    return Number(await redis.get(key));
  },
};

/** @param most -1 for all */
async function reclaim(redis: Redis, key: string, most: number): Promise<void> {
  const expired = await redis.zrangebyscoreBuffer(
    ...([timeoutOf(key), 0, Date.now(), 'LIMIT', 0, most] as const),
  );
  if (expired.length === 0) return;
  const removed = await redis.zrem(timeoutOf(key), ...expired);
  const free = await redis.incrby(key, removed);
  if (free > 0) await redis.publish(permitChannelOf(key), String(free));
}

/** The permits in use after this time, as our API and Redisson's show their ids. */
export async function permitIdsIn(redis: Redis, timeouts: string, since = 0): Promise<string[]> {
  const members = await redis.zrangebyscoreBuffer(timeouts, `(${String(since)}`, '+inf');
  return members.map((member) => member.toString('hex'));
}
