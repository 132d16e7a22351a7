import type { Redis } from 'ioredis';
import { channelOf, FOREIGN_CLIENT, REFUSE, tagged } from './redisson.js';

/** Where Redisson's RFairLock keeps its queue, and where this library keeps who is alive in it. */
export function fairKeysOf(key: string) {
  const name = tagged(key);
  return {
    queue: `redisson_lock_queue:${name}`,
    timeouts: `redisson_lock_timeout:${name}`,
    waiting: `nestjs_fair_waiting:${name}`,
  };
}

/** The scripts of a thread have this in common. */
const THREAD = `
local key, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]
local owner, channel = ARGV[1], ARGV[2]
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Takes away the first waiters that have outlasted their scores.
local function sweep()
  while true do
    local head = redis.call('lindex', queue, 0)
    local score = head and redis.call('zscore', timeouts, head)
    if not score or tonumber(score) > now then return end
    redis.call('zrem', timeouts, head)
    redis.call('lpop', queue)
  end
end

local function moveUp(waiters, waitMs)
  for _, waiter in ipairs(waiters) do redis.call('zincrby', timeouts, -waitMs, waiter) end
end

local function take(waitMs, leaseMs)
  sweep()
  local head = redis.call('lindex', queue, 0)
  local isNext = not head or head == owner
  if redis.call('exists', key) == 0 and isNext then
    redis.call('lpop', queue)
    redis.call('zrem', timeouts, owner)
    moveUp(redis.call('zrange', timeouts, 0, -1), waitMs)
  elseif redis.call('hexists', key, owner) == 0 then
    return false
  end
  redis.call('hincrby', key, owner, 1)
  redis.call('pexpire', key, leaseMs)
  return true
end
`;

const TRY_ONCE = `return take(ARGV[3], ARGV[4]) and 1 or 0`;

const TRY_LOCK = `
if take(ARGV[3], ARGV[4]) then return nil end
if redis.call('zscore', timeouts, owner) then return math.max(0, redis.call('pttl', key)) end
local last = redis.call('lindex', queue, -1)
local score = last and last ~= owner and redis.call('zscore', timeouts, last)
local base = score and score - now or redis.call('pttl', key)
local horizon = string.format('%.0f', base + ARGV[3] + now)
if redis.call('zadd', timeouts, horizon, owner) == 1 then redis.call('rpush', queue, owner) end
return base
`;

const GIVE_UP = `
local waiters, mine = redis.call('lrange', queue, 0, -1), 0
for place, waiter in ipairs(waiters) do
  if waiter == owner then mine = place end
end
moveUp({unpack(waiters, mine + 1)}, ARGV[3])
redis.call('zrem', timeouts, owner)
redis.call('lrem', queue, 0, owner)
`;

const UNLOCK = `
sweep()
if redis.call('hexists', key, owner) == 0 then ${REFUSE} end
if redis.call('hincrby', key, owner, -1) > 0 then return end
redis.call('del', key)
local head = redis.call('lindex', queue, 0)
if head then redis.call('publish', channel .. ':' .. head, '0') end
`;

export const FAIR_SCRIPTS = {
  tryOnce: THREAD + TRY_ONCE,
  tryLock: THREAD + TRY_LOCK,
  giveUp: THREAD + GIVE_UP,
  unlock: THREAD + UNLOCK,
};

/** One thread of a Java service with Redisson's RFairLock; what it does, it does in one script, as there. */
export class JavaFairLock {
  readonly owner: string;
  readonly channel: string;

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    thread = 53,
  ) {
    this.owner = `${FOREIGN_CLIENT}:${String(thread)}`;
    this.channel = `${channelOf(key)}:${this.owner}`;
  }

  /** Null when it got the lock; else it is in the queue, and the answer is how long to wait. */
  async tryLock(waitMs = 300_000, leaseMs = 30_000): Promise<number | null> {
    return (await this.#run(TRY_LOCK, waitMs, leaseMs)) as number | null;
  }

  /** One attempt, which does not enter the queue. */
  async tryOnce(waitMs = 300_000, leaseMs = 30_000): Promise<boolean> {
    return (await this.#run(TRY_ONCE, waitMs, leaseMs)) === 1;
  }

  /** The wait time is over. */
  async giveUp(waitMs = 300_000): Promise<void> {
    await this.#run(GIVE_UP, waitMs);
  }

  async unlock(): Promise<void> {
    await this.#run(UNLOCK);
  }

  /** A Java thread begins with this, whenever it locks or unlocks. */
  async sweep(): Promise<void> {
    await this.#run('sweep()');
  }

  #run(script: string, ...args: number[]): Promise<unknown> {
    const { queue, timeouts } = fairKeysOf(this.key);
    const keys = [this.key, queue, timeouts];
    return this.redis.eval(
      ...([
        THREAD + script,
        keys.length,
        ...keys,
        this.owner,
        channelOf(this.key),
        ...args,
      ] as const),
    );
  }
}
