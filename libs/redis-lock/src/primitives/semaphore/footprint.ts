import { helperKey, prefixOf, suffixedKey, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_sc';
const WAITING = 'nestjs_semaphore_waiting';
/** The marker of a request that Redis has executed. */
export const REQUEST = 'nestjs_semaphore_request';

export const SEMAPHORE_FOOTPRINT = {
  commands: [
    ...['decrby', 'del', 'get', 'incrby', 'pexpire', 'pttl', 'set', 'time', 'zadd', 'zcard'],
    ...['zcount', 'zrange', 'zrem', 'zremrangebyrank', 'zscore'],
  ],
  keys: ['', ...[WAITING, REQUEST].map(prefixOf)],
  channels: [prefixOf(CHANNEL)],
} satisfies Footprint;

/** The channel that announces an increase of the free permits. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

/** The permits in use, each with the end of its lease. */
export function leasesKey(key: string): string {
  return suffixedKey(key, 'timeout');
}

/** The waiter for several permits at once, and their number. Java does not read it. */
export function waitingKey(key: string): string {
  return helperKey(WAITING, key);
}
