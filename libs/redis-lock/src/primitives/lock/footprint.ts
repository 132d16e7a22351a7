import { TOKEN_COMMANDS, TOKEN_KEY } from '../../core/lua/fencing-token.js';
import { LINE_COMMANDS, lineKeys, linePrefixes } from '../../core/lua/hand-off.js';
import { HASH_COMMANDS } from '../../core/lua/hash-lock.js';
import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_lock__channel';
const LINE = linePrefixes('lock');

export const LOCK_FOOTPRINT = {
  commands: [...HASH_COMMANDS, ...TOKEN_COMMANDS, ...LINE_COMMANDS],
  keys: [prefixOf(TOKEN_KEY), ...LINE.keys],
  channels: [prefixOf(CHANNEL), ...LINE.channels],
} satisfies Footprint;

/** The channel of the wake-ups. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

/** The keys of a script that looks at the line, or changes it. */
export function keysInLine(key: string): [string, ...string[]] {
  const { queue, claims, opened } = lineKeys(key);
  return [key, queue, claims, opened];
}
