import type { Footprint } from '../core/redis/key-names.js';
import { LATCH_FOOTPRINT } from '../primitives/count-down-latch/footprint.js';
import { COUNTING_SEMAPHORE_FOOTPRINT } from '../primitives/counting-semaphore/footprint.js';
import { FAIR_LOCK_FOOTPRINT } from '../primitives/fair-lock/footprint.js';
import { FENCING_GUARD_FOOTPRINT } from '../primitives/fencing-guard/footprint.js';
import { LOCK_FOOTPRINT } from '../primitives/lock/footprint.js';
import { READ_WRITE_LOCK_FOOTPRINT } from '../primitives/read-write-lock/footprint.js';
import { RED_LOCK_FOOTPRINT } from '../primitives/red-lock/footprint.js';
import { SEMAPHORE_FOOTPRINT } from '../primitives/semaphore/footprint.js';

/** The commands of every connection, for any lock. */
export const CONNECTION = [
  'eval',
  'evalsha',
  'info',
  'ping',
  'publish',
  'subscribe',
  'unsubscribe',
];

/** The further commands of a connection to a Cluster. */
export const CLUSTER = [
  ...['client|setname', 'cluster|info', 'cluster|slots', 'pubsub|shardnumsub'],
  ...['spublish', 'ssubscribe', 'sunsubscribe'],
];

/**
 * The rights that a Redis user needs for each service, or option. docs/security.md takes its rules
 * from here. test/connections/permissions.spec.ts compares both with the scripts and the client.
 */
export const PERMISSIONS = {
  LockService: LOCK_FOOTPRINT,
  FairLockService: FAIR_LOCK_FOOTPRINT,
  ReadWriteLockService: READ_WRITE_LOCK_FOOTPRINT,
  SemaphoreService: both(SEMAPHORE_FOOTPRINT, COUNTING_SEMAPHORE_FOOTPRINT),
  LatchService: LATCH_FOOTPRINT,
  RedLockService: RED_LOCK_FOOTPRINT,
  FencingGuard: FENCING_GUARD_FOOTPRINT,
  minReplicas: { commands: ['set', 'wait'], keys: ['nestjs_replicated:'], channels: [] },
} as const satisfies Record<string, Footprint>;

export type PermissionsOf = keyof typeof PERMISSIONS;

/**
 * The rules for `ACL SETUSER` that allow all of that, and nothing else. They are for names under a
 * `keyPrefix`, without a tag of their own.
 */
export function aclRules(of: readonly PermissionsOf[], keyPrefix: string): string[] {
  const all: readonly Footprint[] = of.map((one) => PERMISSIONS[one]);
  const prefix = globbed(keyPrefix);
  const commands = [...CONNECTION, ...all.flatMap((one) => one.commands)];
  const keys = all.flatMap((one) => one.keys).map((key) => `~${key}{${prefix}*`);
  const channels = all.flatMap((one) => one.channels).map((channel) => `&${channel}{${prefix}*`);
  return [
    ...unique(commands).map((command) => `+${command}`),
    `~${prefix}*`,
    ...unique(keys),
    ...unique(channels),
  ];
}

/** A pattern that matches only the text itself. */
export function globbed(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

/** One service has both kinds. */
function both(one: Footprint, other: Footprint): Footprint {
  return {
    commands: unique([...one.commands, ...other.commands]),
    keys: unique([...one.keys, ...other.keys]),
    channels: unique([...one.channels, ...other.channels]),
  };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
