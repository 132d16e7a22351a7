import { suffixedKey, type Footprint } from '../core/redis/key-names.js';
import { CLUSTER, CONNECTION, globbed, PERMISSIONS, type PermissionsOf } from './footprints.js';

/** To wake waiters. */
const MESSAGES = ['ping', 'publish', 'subscribe', 'unsubscribe'];
/** In a Cluster ioredis names its connections, and goes on when it may not. */
const NAMES = ['client|setname'];
const ELSEWHERE = [...MESSAGES, 'wait', 'info'];

const all = Object.values(PERMISSIONS).flatMap(({ commands }): readonly string[] => commands);

/**
 * The rights that a Redis user needs for the locks, and no more, as `doctor` tries them. Each group
 * is named after the feature that fails without it.
 */
export const COMMANDS = {
  /** To run the scripts of all kinds of locks. */
  locks: [...new Set([...CONNECTION, ...all])].filter((command) => !ELSEWHERE.includes(command)),
  messages: MESSAGES,
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

/** The prefixes of all channels of locks, as an ACL rule. */
export const CHANNEL_PATTERNS = ['redisson_*', 'nestjs_*'] as const;

/** The same for keys; the prefix is that of the module. */
export function keyPatterns(keyPrefix: string): string[] {
  return [`${keyPrefix}*`, `{${keyPrefix}*`, 'redisson_*', 'nestjs_*'];
}

/**
 * The needs of one service, or option. Keys and channels are an example of each, by the pattern for
 * a rule.
 */
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
