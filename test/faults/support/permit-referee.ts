import type { Redis } from 'ioredis';

import type { PermitLease } from '../../../libs/redis-lock/src/core/api/lease.js';
import { eventually } from '../../support/eventually.js';

/** Notes who is inside, until when at the longest, and how many there are now. */
const ENTER = `
local time = redis.call('time')
redis.call('zremrangebyscore', 'inside', '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('zadd', 'inside', ARGV[1], ARGV[2])
local used = 0
for _, entry in ipairs(redis.call('zrange', 'inside', 0, -1)) do
  used = used + tonumber(string.match(entry, '%d+$'))
end
if used > tonumber(redis.call('get', 'most') or 0) then redis.call('set', 'most', used) end
return used`;

const LEAVE = `
redis.call('zrem', 'inside', ARGV[1])
return redis.call('incr', 'sections')`;

/**
 * Counts the permits in use in a Redis of its own, that no fault touches and that knows nothing of
 * semaphores. The notes of a killed process count until its lease would have ended.
 */
export class PermitReferee {
  /** Sections of all processes, as of the last one of this process. */
  seen = 0;

  constructor(
    private readonly redis: Redis,
    private readonly capacity: number,
  ) {}

  /** A critical section: there, and away again. */
  async section(lease: PermitLease): Promise<void> {
    await this.#enter(lease);
    await this.#leave(lease);
  }

  /** A critical section that goes on until all permits are in use. */
  async sectionUntilFull(lease: PermitLease): Promise<void> {
    await eventually(async () => {
      // Each time: what is noted counts for what is left of the lease.
      await this.#enter(lease);
      return (await this.most()) === this.capacity;
    });
    await this.#leave(lease);
  }

  async #enter(lease: PermitLease): Promise<void> {
    lease.assertHeld();
    const until = Math.floor(Date.now() + lease.remainingMs);
    const used = Number(await this.redis.eval(ENTER, 0, until, entryOf(lease)));
    if (used > this.capacity) await this.violation(`${String(used)} permits in use`);
  }

  async #leave(lease: PermitLease): Promise<void> {
    this.seen = Number(await this.redis.eval(LEAVE, 0, entryOf(lease)));
  }

  async sections(): Promise<number> {
    return Number(await this.redis.get('sections'));
  }

  /** The most permits that were in use at once. */
  async most(): Promise<number> {
    return Number(await this.redis.get('most'));
  }

  async violation(text: string): Promise<void> {
    await this.redis.rpush('violations', text);
  }

  violations(): Promise<string[]> {
    return this.redis.lrange('violations', 0, -1);
  }
}

function entryOf({ permitIds }: PermitLease): string {
  return `${permitIds[0] ?? ''} ${String(permitIds.length)}`;
}
