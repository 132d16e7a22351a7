import type { Redis } from 'ioredis';
import type { Lease } from 'nestjs-redis-lock';

/**
 * A guard keeps two holders from spoiling a counter. `lock` is nothing but the lock. `token` refuses a
 * holder with an older fencing token than one before it, for holders that stand still.
 */
export type Guard = 'lock' | 'token';

/** Counts the sections of one lock, in a Redis that knows nothing of locks. */
interface Counter {
  /** Undefined for the holder of an old token. */
  read(): Promise<number | undefined>;
  /** False for the holder of an old token. */
  write(value: number): Promise<boolean>;
}

/** All sections that were begun with the guard `token`. */
export const BEGUN = 'begun';
export const countKey = (lock: string) => `count:${lock}`;
const newestKey = (lock: string) => `newest:${lock}`;
const acceptedKey = (lock: string) => `accepted:${lock}`;

/** A holder that has read is the newest. An older holder may not write between that and the next write. */
const READ = `
redis.call('incr', KEYS[3])
if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[1]) or '0') then return false end
redis.call('set', KEYS[1], ARGV[1])
return redis.call('get', KEYS[2]) or '0'`;

const WRITE = `
if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[1]) or '0') then return 0 end
redis.call('set', KEYS[2], ARGV[2])
redis.call('incr', KEYS[3])
return 1`;

export function openCounter(
  redis: Redis,
  guard: Guard,
  { lock, lease }: { lock: string; lease: Pick<Lease, 'fencingToken'> },
): Counter {
  if (guard === 'lock') return guardedByLock(redis, lock);
  if (lease.fencingToken === undefined) return uncounted(redis);
  return guardedByToken(redis, lock, String(lease.fencingToken));
}

function guardedByLock(redis: Redis, lock: string): Counter {
  return {
    read: async () => Number(await redis.get(countKey(lock))),
    write: async (value) => {
      await redis.set(countKey(lock), value);
      return true;
    },
  };
}

function guardedByToken(redis: Redis, lock: string, token: string): Counter {
  const keys = [newestKey(lock), countKey(lock)];
  return {
    read: async () => {
      const count = await redis.eval(READ, 3, ...keys, BEGUN, token);
      return count === null ? undefined : Number(count);
    },
    write: async (value) =>
      (await redis.eval(WRITE, 3, ...keys, acceptedKey(lock), token, value)) === 1,
  };
}

/** A section without a token writes nothing: it may stand still. */
function uncounted(redis: Redis): Counter {
  return {
    read: async () => {
      await redis.incr(BEGUN);
      return 0;
    },
    write: async () => true,
  };
}

/** How many writes of the guard `token` were accepted, and what they made of the counter. */
export async function writesOf(redis: Redis, lock: string) {
  const [accepted, count] = await redis.mget(acceptedKey(lock), countKey(lock));
  return { accepted: Number(accepted), count: Number(count) };
}
