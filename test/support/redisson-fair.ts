import type { Redis } from 'ioredis';
import { channelOf, FOREIGN_CLIENT } from './redisson.js';

/** Where Redisson's RFairLock keeps its queue, and where this library keeps who is alive in it. */
export function fairKeysOf(key: string) {
  const name = key.includes('{') ? key : `{${key}}`;
  return {
    queue: `redisson_lock_queue:${name}`,
    timeouts: `redisson_lock_timeout:${name}`,
    waiting: `nestjs_fair_waiting:${name}`,
  };
}

export async function serverNow(redis: Redis): Promise<number> {
  const [seconds = NaN, micros = NaN] = (await redis.time()).map(Number);
  return seconds * 1_000 + Math.floor(micros / 1_000);
}

/** One thread of a Java service with Redisson's RFairLock, in bare Redis commands. */
export class JavaFairLock {
  readonly owner: string;
  readonly channel: string;
  readonly #keys: ReturnType<typeof fairKeysOf>;

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    thread = 53,
  ) {
    this.owner = `${FOREIGN_CLIENT}:${String(thread)}`;
    this.channel = `${channelOf(key)}:${this.owner}`;
    this.#keys = fairKeysOf(key);
  }

  /** Null when it got the lock; else it is in the queue and is told how long to wait. */
  async tryLock(waitMs = 300_000, leaseMs = 30_000): Promise<number | null> {
    const { redis, key, owner } = this;
    const { queue, timeouts } = this.#keys;
    if (await this.tryOnce(waitMs, leaseMs)) return null;
    if ((await redis.zscore(timeouts, owner)) !== null) return Math.max(0, await redis.pttl(key));
    const now = await serverNow(redis);
    const last = await redis.lindex(queue, -1);
    const score = last === null || last === owner ? null : await redis.zscore(timeouts, last);
    const base = score === null ? await redis.pttl(key) : Number(score) - now;
    if ((await redis.zadd(timeouts, base + waitMs + now, owner)) === 1) {
      await redis.rpush(queue, owner);
    }
    return base;
  }

  /** One attempt, which does not enter the queue. */
  async tryOnce(waitMs = 300_000, leaseMs = 30_000): Promise<boolean> {
    const { redis, key, owner } = this;
    const { queue, timeouts } = this.#keys;
    await this.sweep();
    const head = await redis.lindex(queue, 0);
    if ((await redis.exists(key)) === 0 && (head === null || head === owner)) {
      await redis.lpop(queue);
      await redis.zrem(timeouts, owner);
      for (const waiter of await redis.zrange(timeouts, '0', '-1')) {
        await redis.zincrby(timeouts, -waitMs, waiter);
      }
      await redis.multi().hset(key, owner, 1).pexpire(key, leaseMs).exec();
      return true;
    }
    if ((await redis.hexists(key, owner)) === 0) return false;
    await redis.multi().hincrby(key, owner, 1).pexpire(key, leaseMs).exec();
    return true;
  }

  /** The wait time is over. */
  async giveUp(waitMs = 300_000): Promise<void> {
    const { redis, owner } = this;
    const { queue, timeouts } = this.#keys;
    const waiters = await redis.lrange(queue, 0, -1);
    for (const waiter of waiters.slice(waiters.indexOf(owner) + 1)) {
      await redis.zincrby(timeouts, -waitMs, waiter);
    }
    await redis.multi().zrem(timeouts, owner).lrem(queue, 0, owner).exec();
  }

  async unlock(): Promise<void> {
    const { redis, key, owner } = this;
    await this.sweep();
    if ((await redis.hexists(key, owner)) === 0) throw new Error('not locked by current thread');
    if ((await redis.hincrby(key, owner, -1)) > 0) return;
    await redis.del(key);
    const head = await redis.lindex(this.#keys.queue, 0);
    if (head !== null) await redis.publish(`${channelOf(key)}:${head}`, '0');
  }

  /** The beginning of each of its scripts: takes away whoever is first and has outlasted his score. */
  async sweep(): Promise<void> {
    const { queue, timeouts } = this.#keys;
    for (;;) {
      const head = await this.redis.lindex(queue, 0);
      const score = head === null ? null : await this.redis.zscore(timeouts, head);
      if (head === null || score === null || Number(score) > (await serverNow(this.redis))) return;
      await this.redis.multi().zrem(timeouts, head).lpop(queue).exec();
    }
  }
}
