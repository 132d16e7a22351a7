import { TOKEN_COMMANDS, TOKEN_KEY } from '../lua/fencing-token.js';
import { HASH_COMMANDS } from '../lua/hash-lock.js';
import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_lock__channel';

export const RED_LOCK_FOOTPRINT = {
  commands: [...HASH_COMMANDS, ...TOKEN_COMMANDS, 'info'],
  keys: [prefixOf(TOKEN_KEY)],
  channels: [prefixOf(CHANNEL)],
} satisfies Footprint;

/** The channel of the wake-ups, on every node. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}
