import { TOKEN_COMMANDS, TOKEN_KEY } from '../lua/fencing-token.js';
import { QUEUE_COMMANDS, queueKeys, queuePrefixes } from '../lua/hand-off.js';
import { HASH_COMMANDS } from '../lua/hash-lock.js';
import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_lock__channel';
const QUEUE = queuePrefixes('lock');

export const LOCK_FOOTPRINT = {
  commands: [...HASH_COMMANDS, ...TOKEN_COMMANDS, ...QUEUE_COMMANDS],
  keys: [prefixOf(TOKEN_KEY), ...QUEUE.keys],
  channels: [prefixOf(CHANNEL), ...QUEUE.channels],
} satisfies Footprint;

/** The channel of the wake-ups. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

/** The keys of a script that reads or changes the queue. */
export function keysWithQueue(key: string): [string, ...string[]] {
  const { queue, claims, opened } = queueKeys(key);
  return [key, queue, claims, opened];
}
