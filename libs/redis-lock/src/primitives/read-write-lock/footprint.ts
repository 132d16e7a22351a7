import { TOKEN_COMMANDS, TOKEN_KEY } from '../../core/lua/fencing-token.js';
import { LINE_COMMANDS, lineKeys, linePrefixes } from '../../core/lua/hand-off.js';
import { HASH_COMMANDS } from '../../core/lua/hash-lock.js';
import { helperKey, prefixOf, suffixedKey, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_rwlock';
const LINE = linePrefixes('rwlock');

/** The keys that order readers and writers, as `turns.lua.ts` has them. */
export const TURN_KEYS = ['writers', 'patience', 'readers', 'turn'] as const;

export const READ_WRITE_LOCK_FOOTPRINT = {
  commands: [
    ...[...HASH_COMMANDS, ...TOKEN_COMMANDS, ...LINE_COMMANDS],
    ...['hgetall', 'hmget', 'rename', 'zremrangebyscore', 'zscore'],
  ],
  keys: [
    ...['', prefixOf(TOKEN_KEY), ...LINE.keys],
    ...TURN_KEYS.map((of) => prefixOf(`nestjs_rwlock_${of}`)),
  ],
  channels: [prefixOf(CHANNEL), ...LINE.channels],
} satisfies Footprint;

/** The channel of the wake-ups, of both sides. */
export function channelOf(key: string): string {
  return helperKey(CHANNEL, key);
}

export function turnKeys(key: string): Record<(typeof TURN_KEYS)[number], string> {
  return {
    writers: helperKey('nestjs_rwlock_writers', key),
    patience: helperKey('nestjs_rwlock_patience', key),
    readers: helperKey('nestjs_rwlock_readers', key),
    turn: helperKey('nestjs_rwlock_turn', key),
  };
}

/**
 * The keys of all readers' leases begin so. Every script that looks at leases has it as a key: as
 * one that never exists it makes Redis refuse them while the slot is on its way, when a lease that is
 * elsewhere would be taken for one that is over.
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

/** The keys of a script that looks at the readers, and at those who wait. */
export function keysWithTurns(key: string): [string, ...string[]] {
  const { writers, patience, readers, turn } = turnKeys(key);
  return [key, readersPrefix(key), writers, patience, readers, turn];
}

/** The same, and those of the line of the writers. */
export function keysInLine(key: string): [string, ...string[]] {
  const { queue, claims, opened } = lineKeys(key, 'rwlock');
  return [...keysWithTurns(key), queue, claims, opened];
}
