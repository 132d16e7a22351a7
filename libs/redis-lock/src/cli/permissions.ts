import { CLIENT_FOOTPRINT } from '../core/client-record.js';
import { suffixedKey, type Footprint } from '../core/redis/key-names.js';
import { LATCH_FOOTPRINT } from '../primitives/count-down-latch/footprint.js';
import { COUNTING_SEMAPHORE_FOOTPRINT } from '../primitives/counting-semaphore/footprint.js';
import { FAIR_LOCK_FOOTPRINT } from '../primitives/fair-lock/footprint.js';
import { FENCING_GUARD_FOOTPRINT } from '../primitives/fencing-guard/footprint.js';
import { LOCK_FOOTPRINT } from '../primitives/lock/footprint.js';
import { READ_WRITE_LOCK_FOOTPRINT } from '../primitives/read-write-lock/footprint.js';
import { RED_LOCK_FOOTPRINT } from '../primitives/red-lock/footprint.js';
import { SEMAPHORE_FOOTPRINT } from '../primitives/semaphore/footprint.js';

/** The commands of every connection, for all locks. */
export const CONNECTION = [
  ...['eval', 'evalsha', 'info', 'ping', 'publish', 'subscribe', 'unsubscribe'],
];

/** The further commands of a connection to a Cluster. */
export const CLUSTER = [
  ...['asking', 'client|setname', 'cluster|info', 'cluster|slots', 'pubsub|shardnumsub'],
  ...['spublish', 'ssubscribe', 'sunsubscribe'],
];

/**
 * The rights that a Redis user needs for each service, or option. Both pages `security.md` have their
 * rules from here; test/redis/permissions.spec.ts compares them with what scripts and client do.
 */
export const PERMISSIONS = {
  LockService: LOCK_FOOTPRINT,
  FairLockService: FAIR_LOCK_FOOTPRINT,
  ReadWriteLockService: READ_WRITE_LOCK_FOOTPRINT,
  SemaphoreService: both(SEMAPHORE_FOOTPRINT, COUNTING_SEMAPHORE_FOOTPRINT),
  LatchService: LATCH_FOOTPRINT,
  RedLockService: RED_LOCK_FOOTPRINT,
  FencingGuard: FENCING_GUARD_FOOTPRINT,
  LockMonitor: CLIENT_FOOTPRINT,
  minReplicas: { commands: ['set', 'wait'], keys: ['nestjs_replicated:'], channels: [] },
} as const satisfies Record<string, Footprint>;

export type PermissionsOf = keyof typeof PERMISSIONS;

/** A pattern that matches exactly this text. */
export function globbed(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

/** For a service with both kinds. */
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

/** To wake waiters. */
const MESSAGES = ['ping', 'publish', 'subscribe', 'unsubscribe'];
/** In a Cluster ioredis names its connections, and continues if that is refused. */
const NAMES = ['client|setname'];
/** To count the Java services that wait. A script goes on without it. */
const JAVA = ['pubsub|numsub'];
const ELSEWHERE = [...MESSAGES, ...JAVA, 'wait', 'info'];

const all = Object.values(PERMISSIONS).flatMap(({ commands }): readonly string[] => commands);

/**
 * The rights that a Redis user needs for the locks, and no more, as `doctor` tries them. Each group
 * is named after the feature that fails without it.
 */
export const COMMANDS = {
  /** To run the scripts of all kinds of locks. */
  locks: [...new Set([...CONNECTION, ...all])].filter((command) => !ELSEWHERE.includes(command)),
  messages: MESSAGES,
  java: JAVA,
  /** For `minReplicas`. */
  replicas: ['wait'],
  /** For the nodes of a red lock, and for ioredis when it connects. */
  identity: ['info'],
  /** For a database other than 0. */
  database: ['select'],
  /** For a Cluster: to find its nodes, and to wake by sharded messages. */
  cluster: CLUSTER.filter((command) => !NAMES.includes(command)),
  names: NAMES,
} as const satisfies Record<string, readonly string[]>;

/** The rights for one service or option: an example of each key and channel, by the pattern of its rule. */
export interface Need {
  readonly name: PermissionsOf;
  readonly commands: readonly string[];
  readonly keys: ReadonlyMap<string, string>;
  readonly channels: ReadonlyMap<string, string>;
}

export function needsOf(key: string, keyPrefix: string): Need[] {
  const prefix = globbed(keyPrefix);
  // A prefix with a tag of its own gets no further braces; without one, names may have a tag.
  const [open, close] = key.includes('{') ? ['', ''] : ['{', '}'];
  const begin = keyPrefix === '' ? '' : open + prefix;
  const byPattern = (names: readonly string[]) =>
    names.map(
      (name) =>
        [
          name === '' ? `${open}${prefix}*` : `${name}${begin}*`,
          name === '' ? suffixedKey(key, 'timeout') : `${name}${open}${key}${close}`,
        ] as const,
    );
  return Object.entries<Footprint>(PERMISSIONS).map(([name, { commands, keys, channels }]) => ({
    name: name as PermissionsOf,
    commands: [...CONNECTION, ...commands].filter((command) => !ELSEWHERE.includes(command)),
    keys: new Map([[`${prefix}*`, key], ...byPattern(keys)]),
    channels: new Map(byPattern(channels)),
  }));
}
