import { TOKEN_COMMANDS, TOKEN_KEY } from '../lua/fencing-token.js';
import { HASH_COMMANDS } from '../lua/hash-lock.js';
import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_lock__channel';
const [QUEUE, TIMEOUTS] = ['redisson_lock_queue', 'redisson_lock_timeout'] as const;
const WAITING = 'nestjs_fair_waiting';

export const FAIR_LOCK_FOOTPRINT = {
  commands: [
    ...[...HASH_COMMANDS, ...TOKEN_COMMANDS],
    ...['hdel', 'hmget', 'lindex', 'linsert', 'llen', 'lpop', 'lpos'],
    ...['lrange', 'lrem', 'rpush', 'zadd', 'zcard', 'zrem', 'zscore'],
  ],
  keys: [TOKEN_KEY, QUEUE, TIMEOUTS, WAITING].map(prefixOf),
  channels: [prefixOf(CHANNEL)],
} satisfies Footprint;

/** The waiters of a key have a channel each: `<this>:<owner>`. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

export function queueKeys(key: string) {
  return {
    queue: helperKey(QUEUE, key),
    timeouts: helperKey(TIMEOUTS, key),
    waiting: helperKey(WAITING, key),
  };
}

/** The keys of all scripts, except those that use the hash alone. */
export function keysOf(key: string): [string, ...string[]] {
  const { queue, timeouts, waiting } = queueKeys(key);
  return [key, queue, timeouts, waiting];
}
