import type { Redis } from 'ioredis';

/** Threads of a Java service. */
export const JAVA = '0e7fa2a4-9d42-4c2a-9f57-0d5b3f6f1c11';
export const THREAD_1 = `${JAVA}:53`;
export const THREAD_2 = `${JAVA}:54`;

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

/** The scripts of a thread have this in common. */
const THREAD = `
local key, prefix, owner = KEYS[1], ARGV[1], ARGV[2]
local writer, leaseMs, channel = owner .. ':write', tonumber(ARGV[3]), ARGV[4]
local mode = redis.call('hget', key, 'mode')

local function holdKey(one, hold)
  return prefix .. ':' .. one .. ':rwlock_timeout:' .. hold
end
local function holdsOf(one)
  return tonumber(redis.call('hget', key, one) or 0) or 0
end
local function isOthersWriting()
  return mode == 'write' and redis.call('hexists', key, writer) == 0
end
local function longestLease()
  local longest = -3
  for _, field in ipairs(redis.call('hkeys', key)) do
    for hold = holdsOf(field), 1, -1 do
      longest = math.max(longest, redis.call('pttl', holdKey(field, hold)))
    end
  end
  return longest
end
local function free(message)
  redis.call('del', key)
  redis.call('publish', channel, message)
end
local function notLocked()
  return redis.error_reply('ERR not locked by current thread')
end
`;

const TRY_READ = `
local left = redis.call('pttl', key)
if isOthersWriting() then return left end
local hold = holdsOf(owner) + 1
redis.call('hset', key, 'mode', mode or 'read', owner, hold)
redis.call('set', holdKey(owner, hold), 1, 'px', leaseMs)
redis.call('pexpire', key, math.max(left, leaseMs))
return nil
`;

const UNLOCK_READ = `
local holds = holdsOf(owner)
if holds == 0 then return notLocked() end
redis.call('del', holdKey(owner, holds))
if holds > 1 then redis.call('hset', key, owner, holds - 1) else redis.call('hdel', key, owner) end
if redis.call('hlen', key) > 1 then
  local longest = longestLease()
  if longest > 0 then redis.call('pexpire', key, longest) end
  if longest > 0 or mode == 'write' then return end
end
free('0')
`;

const TRY_WRITE = `
local left = redis.call('pttl', key)
if mode == 'read' or isOthersWriting() then return left end
redis.call('hset', key, 'mode', 'write')
redis.call('hincrby', key, writer, 1)
redis.call('pexpire', key, math.max(left, 0) + leaseMs)
return nil
`;

const UNLOCK_WRITE = `
if redis.call('hexists', key, writer) == 0 then return notLocked() end
if redis.call('hincrby', key, writer, -1) > 0 then return redis.call('pexpire', key, leaseMs) end
redis.call('hdel', key, writer)
if redis.call('hlen', key) > 1 then redis.call('hset', key, 'mode', 'read') else free('1') end
`;

const RENEW_READ = `
local isAlive = 0
for hold = holdsOf(owner), 1, -1 do
  if redis.call('pexpire', holdKey(owner, hold), leaseMs) == 1 then isAlive = 1 end
end
if isAlive == 1 then redis.call('pexpire', key, leaseMs) end
return isAlive
`;

/** Redisson's RReadWriteLock as a Java thread drives it; what it does, it does in one script, as there. */
export class JavaThread {
  constructor(
    private readonly redis: Redis,
    readonly owner: string = THREAD_1,
  ) {}

  /** Resolves with null when it got the lock, or else with what is left of the present lease. */
  async tryRead(key: string, leaseMs?: number): Promise<number | null> {
    return (await this.#run(TRY_READ, key, leaseMs)) as number | null;
  }

  async unlockRead(key: string): Promise<void> {
    await this.#run(UNLOCK_READ, key);
  }

  async tryWrite(key: string, leaseMs?: number): Promise<number | null> {
    return (await this.#run(TRY_WRITE, key, leaseMs)) as number | null;
  }

  async unlockWrite(key: string): Promise<void> {
    await this.#run(UNLOCK_WRITE, key);
  }

  /** The tick of the watchdog for a reader: sets the lease of the lock, even if it was longer. */
  async renewRead(key: string): Promise<boolean> {
    return (await this.#run(RENEW_READ, key)) === 1;
  }

  #run(script: string, key: string, leaseMs = 30_000): Promise<unknown> {
    return this.redis.eval(
      ...([THREAD + script, 1, key, tagged(key), this.owner, leaseMs, channelOf(key)] as const),
    );
  }
}
