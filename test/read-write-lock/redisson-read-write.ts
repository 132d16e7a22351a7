import type { Redis } from 'ioredis';

/** Threads of a Java service. */
export const JAVA = '0e7fa2a4-9d42-4c2a-9f57-0d5b3f6f1c11';
export const THREAD_1 = `${JAVA}:53`;
export const THREAD_2 = `${JAVA}:54`;

export function channelOf(key: string): string {
  return key.includes('{') ? `redisson_rwlock:${key}` : `redisson_rwlock:{${key}}`;
}

/** The key of one hold of a reader. */
export function timeoutKey(key: string, owner: string, hold: number): string {
  const named = key.includes('{') ? `${key}:${owner}` : `{${key}}:${owner}`;
  return `${named}:rwlock_timeout:${String(hold)}`;
}

const LEASES_S = [1, 3, 5, 10, 20, 30, 40, 60, 7 * 24 * 60 * 60];

/** The lease that is running down, in seconds. A machine that is busy may take a while to look. */
export function leaseOf(pttl: number): number {
  return LEASES_S.find((seconds) => pttl >= 0 && pttl <= seconds * 1_000) ?? pttl;
}

/** Everything in Redis, with its leases in seconds. */
export async function look(redis: Redis): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const key of (await redis.keys('*')).sort()) {
    const type = await redis.type(key);
    let value: unknown = type;
    if (type === 'hash') value = await redis.hgetall(key);
    if (type === 'string') value = await redis.get(key);
    if (type === 'zset') value = await redis.zrange(key, '0', '-1');
    seen[key] = [value, leaseOf(await redis.pttl(key))];
  }
  return seen;
}

/** Redisson's RReadWriteLock as a Java thread drives it, in bare Redis commands. */
export class JavaThread {
  constructor(
    private readonly redis: Redis,
    readonly owner: string = THREAD_1,
  ) {}

  /** Resolves with null when it got the lock, or else with what is left of the present lease. */
  async tryRead(key: string, leaseMs = 30_000): Promise<number | null> {
    const { redis, owner } = this;
    const mode = await redis.hget(key, 'mode');
    const writes = (await redis.hexists(key, `${owner}:write`)) === 1;
    if (mode === 'write' && !writes) return redis.pttl(key);
    const hold = Number(await redis.hget(key, owner)) + 1;
    const left = await redis.pttl(key);
    // In one step, as a script does it: a reader without a lease is a dead one.
    await redis
      .multi()
      .hset(key, 'mode', mode ?? 'read', owner, hold)
      .set(timeoutKey(key, owner, hold), 1, 'PX', leaseMs)
      .pexpire(key, Math.max(left, leaseMs))
      .exec();
    return null;
  }

  async unlockRead(key: string): Promise<void> {
    const { redis, owner } = this;
    const mode = await redis.hget(key, 'mode');
    const holds = Number(await redis.hget(key, owner));
    if (holds === 0) throw new Error('not locked by current thread');
    const leaving = redis.multi().del(timeoutKey(key, owner, holds));
    if (holds > 1) leaving.hset(key, owner, holds - 1);
    else leaving.hdel(key, owner);
    await leaving.exec();
    if ((await redis.hlen(key)) > 1) {
      const longest = await this.#longestLease(key);
      if (longest > 0) {
        await redis.pexpire(key, longest);
        return;
      }
      if (mode === 'write') return;
    }
    await redis.multi().del(key).publish(channelOf(key), '0').exec();
  }

  async tryWrite(key: string, leaseMs = 30_000): Promise<number | null> {
    const { redis, owner } = this;
    const mode = await redis.hget(key, 'mode');
    const field = `${owner}:write`;
    if (mode === null) {
      await redis.multi().hset(key, 'mode', 'write', field, 1).pexpire(key, leaseMs).exec();
      return null;
    }
    const left = await redis.pttl(key);
    if (mode !== 'write' || (await redis.hexists(key, field)) === 0) return left;
    await redis
      .multi()
      .hincrby(key, field, 1)
      .pexpire(key, left + leaseMs)
      .exec();
    return null;
  }

  async unlockWrite(key: string): Promise<void> {
    const { redis, owner } = this;
    const field = `${owner}:write`;
    if ((await redis.hexists(key, field)) === 0) throw new Error('not locked by current thread');
    if ((await redis.hincrby(key, field, -1)) > 0) {
      await redis.pexpire(key, 30_000);
      return;
    }
    await redis.hdel(key, field);
    if ((await redis.hlen(key)) > 1) await redis.hset(key, 'mode', 'read');
    else await redis.multi().del(key).publish(channelOf(key), '1').exec();
  }

  /** The tick of the watchdog for a reader: sets the lease of the lock, even if it was longer. */
  async renewRead(key: string, leaseMs = 30_000): Promise<boolean> {
    const { redis, owner } = this;
    let isAlive = false;
    for (let hold = Number(await redis.hget(key, owner)); hold > 0; hold -= 1) {
      const renewed = await redis.pexpire(timeoutKey(key, owner, hold), leaseMs);
      isAlive ||= renewed === 1;
    }
    if (isAlive) await redis.pexpire(key, leaseMs);
    return isAlive;
  }

  async #longestLease(key: string): Promise<number> {
    let longest = -3;
    for (const [field, count] of Object.entries(await this.redis.hgetall(key))) {
      for (let hold = Number(count) || 0; hold > 0; hold -= 1) {
        longest = Math.max(longest, await this.redis.pttl(timeoutKey(key, field, hold)));
      }
    }
    return longest;
  }
}
