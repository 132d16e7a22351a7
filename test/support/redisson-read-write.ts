import type { Redis } from 'ioredis';
import { FOREIGN_OWNER, REFUSE, tagged } from './redisson.js';

export function channelOf(key: string): string {
  return `redisson_rwlock:${tagged(key)}`;
}

/** The keys of the holds of a reader begin so. */
const timeoutsOf = (key: string, owner: string) => `${tagged(key)}:${owner}:rwlock_timeout:`;

/** The key of one hold of a reader. */
export function timeoutKey(key: string, owner: string, hold: number): string {
  return timeoutsOf(key, owner) + String(hold);
}

/** The keys of a script of a reader. */
export function readerKeys(key: string, owner: string): [string, string, string] {
  return [key, timeoutsOf(key, owner), tagged(key)];
}

const TRY_READ = `
local mode, isMine = redis.call('hget', KEYS[1], 'mode'), false
if mode == 'write' then isMine = redis.call('hexists', KEYS[1], ARGV[1] .. ':write') == 1 end
if mode == 'write' and not isMine then return redis.call('pttl', KEYS[1]) end
if not mode then redis.call('hset', KEYS[1], 'mode', 'read') end
local count = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('set', KEYS[2] .. count, '1', 'px', ARGV[2])
redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[2])))
return nil`;

const UNLOCK_READ = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then ${REFUSE} end
local count = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if count == 0 then redis.call('hdel', KEYS[1], ARGV[1]) end
redis.call('del', KEYS[2] .. (count + 1))
local longest = 0
for _, field in ipairs(redis.call('hkeys', KEYS[1])) do
  for i = 1, tonumber(redis.call('hget', KEYS[1], field)) or 0 do
    local lease = KEYS[3] .. ':' .. field .. ':rwlock_timeout:' .. i
    longest = math.max(longest, redis.call('pttl', lease))
  end
end
if longest > 0 then return redis.call('pexpire', KEYS[1], longest) end
if redis.call('hget', KEYS[1], 'mode') == 'write' then return 0 end
redis.call('del', KEYS[1])
return redis.call('publish', ARGV[2], '0')`;

const RENEW_READ = `
local count = tonumber(redis.call('hget', KEYS[1], ARGV[1]))
if not count then return 0 end
for i = count, 1, -1 do redis.call('pexpire', KEYS[2] .. i, ARGV[2]) end
return redis.call('pexpire', KEYS[1], ARGV[2])`;

const TRY_WRITE = `
if redis.call('exists', KEYS[1]) == 1 then return redis.call('pttl', KEYS[1]) end
redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return nil`;

const UNLOCK_WRITE = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then ${REFUSE} end
redis.call('hdel', KEYS[1], ARGV[1])
-- The writer goes on as a reader, and tells nobody.
if redis.call('hlen', KEYS[1]) > 1 then return redis.call('hset', KEYS[1], 'mode', 'read') end
redis.call('del', KEYS[1])
return redis.call('publish', ARGV[2], '1')`;

export const READ_SCRIPTS = { tryLock: TRY_READ, unlock: UNLOCK_READ, renew: RENEW_READ };
export const WRITE_SCRIPTS = { tryLock: TRY_WRITE, unlock: UNLOCK_WRITE };

/** A thread of a Java service that reads; each call is 1 script, as in Redisson. */
export const javaReader = {
  async tryLock(redis: Redis, key: string): Promise<boolean> {
    return (await run(redis, TRY_READ, key, 30_000)) === null;
  },

  async unlock(redis: Redis, key: string): Promise<void> {
    await run(redis, UNLOCK_READ, key, channelOf(key));
  },
};

function run(redis: Redis, lua: string, key: string, arg: string | number): Promise<unknown> {
  const keys = readerKeys(key, FOREIGN_OWNER);
  return redis.eval(lua, keys.length, ...keys, FOREIGN_OWNER, arg);
}
