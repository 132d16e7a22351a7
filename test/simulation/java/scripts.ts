import { createHash } from 'node:crypto';
import { LockBackendError } from '../../../libs/redis-lock/src/core/api/errors.js';
import type { Script } from '../../../libs/redis-lock/src/core/redis/script.js';
import { NO_LEASE } from '../../support/redisson-permits.js';
import { FAIR_SCRIPTS } from '../../support/redisson-fair.js';
import { LOCK_SCRIPTS } from '../../support/redisson.js';

/** A script of Redisson. Null is a grant; a number is the time for which the thread may sleep. */
export type JavaScript = Script<string, string, number | null>;

const script = (name: string, lua: string): JavaScript => ({
  ...{ lua, sha1: createHash('sha1').update(lua).digest('hex') },
  ...{ name, keys: [], args: [], readsByName: false, inOrder: false },
  // No Cluster is simulated.
  inMode: {} as JavaScript['inMode'],
  decode: (raw) => (raw === null ? null : Number(raw)),
});

const REFUSAL = 'ERR not locked by current thread';
const REFUSED = /not locked by current thread/;

/** The thread holds it no more; in Java an `IllegalMonitorStateException`. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LockBackendError && REFUSED.test(String(error.cause));
}

const REFUSE = `return redis.error_reply('${REFUSAL}')`;

const RENEW = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;

const RENEW_READ = `
local count = tonumber(redis.call('hget', KEYS[1], ARGV[1]))
if not count then return 0 end
for i = count, 1, -1 do redis.call('pexpire', KEYS[2] .. i, ARGV[2]) end
return redis.call('pexpire', KEYS[1], ARGV[2])`;

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

/** Redisson uses the clock of the client, which must be in step with that of Redis. */
const PERMITS = `
local function idOf(hex)
  local id = string.gsub(hex, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
  return id
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function reclaim(most)
  local ended = redis.call('zrangebyscore', KEYS[2], 0, now, 'limit', 0, most)
  if #ended == 0 then return end
  redis.call('zrem', KEYS[2], unpack(ended))
  local free = redis.call('incrby', KEYS[1], #ended)
  if free > 0 then redis.call('publish', ARGV[1], free) end
end
`;

const TRY_PERMITS = `${PERMITS}
local wanted = #ARGV - 2
reclaim(wanted)
if tonumber(redis.call('get', KEYS[1]) or 0) >= wanted then
  redis.call('decrby', KEYS[1], wanted)
  for i = 3, #ARGV do redis.call('zadd', KEYS[2], now + ARGV[2], idOf(ARGV[i])) end
  local left = redis.call('pttl', KEYS[1])
  if left > 0 then redis.call('pexpire', KEYS[2], left) end
  return nil
end
local first = redis.call('zrange', KEYS[2], 0, 0, 'withscores')
if first[1] and first[2] ~= '${NO_LEASE}' then return first[2] - now end
return -1`;

const RELEASE_PERMITS = `${PERMITS}
for i = 2, #ARGV do
  local score = redis.call('zscore', KEYS[2], idOf(ARGV[i]))
  if not score or tonumber(score) <= now then ${REFUSE} end
end
reclaim(100)
for i = 2, #ARGV do redis.call('zrem', KEYS[2], idOf(ARGV[i])) end
redis.call('incrby', KEYS[1], #ARGV - 1)
return redis.call('publish', ARGV[1], #ARGV - 1)`;

export const LOCK = {
  tryLock: script('java lock', LOCK_SCRIPTS.tryLock),
  unlock: script('java unlock', LOCK_SCRIPTS.unlock),
  renew: script('java renew', RENEW),
};

export const FAIR = {
  tryOnce: {
    ...script('java fair try', FAIR_SCRIPTS.tryOnce),
    decode: (raw: unknown) => (raw === 1 ? null : 0),
  },
  tryLock: script('java fair lock', FAIR_SCRIPTS.tryLock),
  giveUp: script('java fair give up', FAIR_SCRIPTS.giveUp),
  unlock: script('java fair unlock', FAIR_SCRIPTS.unlock),
};

export const READ = {
  tryLock: script('java read lock', TRY_READ),
  unlock: script('java read unlock', UNLOCK_READ),
  renew: script('java read renew', RENEW_READ),
};

export const WRITE = {
  tryLock: script('java write lock', TRY_WRITE),
  unlock: script('java write unlock', UNLOCK_WRITE),
};

export const SEMAPHORE = {
  tryAcquire: script('java acquire', TRY_PERMITS),
  release: script('java release', RELEASE_PERMITS),
};
