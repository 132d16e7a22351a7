import { TOKEN_COMMANDS, TOKEN_KEY } from '../lua/fencing-token.js';
import { QUEUE_COMMANDS, queueKeys, queuePrefixes } from '../lua/hand-off.js';
import { HASH_COMMANDS } from '../lua/hash-lock.js';
import { helperKey, prefixOf, suffixedKey, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_rwlock';
const QUEUE = queuePrefixes('rwlock');

/** The keys that order readers and writers, `turns.lua.ts`. */
export const TURN_KEYS = ['writers', 'writersTurn', 'readers', 'turn'] as const;
const IN_REDIS: Record<(typeof TURN_KEYS)[number], string> = {
  writers: 'nestjs_rwlock_writers',
  writersTurn: 'nestjs_rwlock_patience',
  readers: 'nestjs_rwlock_readers',
  turn: 'nestjs_rwlock_turn',
};

export const READ_WRITE_LOCK_FOOTPRINT = {
  commands: [
    ...[...HASH_COMMANDS, ...TOKEN_COMMANDS, ...QUEUE_COMMANDS],
    ...['hgetall', 'hmget', 'rename', 'zremrangebyscore', 'zscore'],
  ],
  keys: [
    ...['', prefixOf(TOKEN_KEY), ...QUEUE.keys],
    ...TURN_KEYS.map((of) => prefixOf(IN_REDIS[of])),
  ],
  channels: [prefixOf(CHANNEL), ...QUEUE.channels],
} satisfies Footprint;

/** The channel of the wake-ups, for both sides. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

export function turnKeys(key: string): typeof IN_REDIS {
  return {
    writers: helperKey(IN_REDIS.writers, key),
    writersTurn: helperKey(IN_REDIS.writersTurn, key),
    readers: helperKey(IN_REDIS.readers, key),
    turn: helperKey(IN_REDIS.turn, key),
  };
}

/**
 * The prefix of all readers' leases. Every script that reads leases has it as a key, which never
 * exists. While the slot is moving, Redis refuses such a script. Otherwise a lease on the other
 * node would seem expired.
 */
export function readersPrefix(key: string): string {
  return suffixedKey(key, '');
}

/** The lease of one hold of a reader. */
export function readerLeaseKey(key: string, owner: string, holdCount: number): string {
  return `${readersPrefix(key)}${owner}:rwlock_timeout:${String(holdCount)}`;
}

/** The field of a writer. */
export function writerOf(owner: string): string {
  return `${owner}:write`;
}

/** The keys of a script that reads the readers and the waiters. */
export function keysWithTurns(key: string): [string, ...string[]] {
  const { writers, writersTurn, readers, turn } = turnKeys(key);
  return [key, readersPrefix(key), writers, writersTurn, readers, turn];
}

/** The same, and those of the queue of the writers. */
export function keysWithQueue(key: string): [string, ...string[]] {
  const { queue, claims, opened } = queueKeys(key, 'rwlock');
  return [...keysWithTurns(key), queue, claims, opened];
}
