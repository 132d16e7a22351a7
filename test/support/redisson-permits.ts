import type { Redis } from 'ioredis';

import { FOREIGN_CLIENT, REFUSE, tagged } from './redisson.js';

/** How the permit ids of a Java service begin here, so that ours are known from them. */
export const FOREIGN_PERMIT = FOREIGN_CLIENT.slice(0, 8);

/** The score of a permit without a lease. */
export const NO_LEASE = '922337203685477';

export const timeoutOf = (key: string) => `${tagged(key)}:timeout`;
export const permitChannelOf = (key: string) => `redisson_sc:${tagged(key)}`;

/** The permits in use after this time, as our API and Redisson's show their ids. */
export async function permitIdsIn(redis: Redis, timeouts: string, since = 0): Promise<string[]> {
  const members = await redis.zrangebyscoreBuffer(timeouts, `(${String(since)}`, '+inf');
  return members.map((member) => member.toString('hex'));
}

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

export const PERMIT_SCRIPTS = { tryAcquire: TRY_PERMITS, release: RELEASE_PERMITS };
