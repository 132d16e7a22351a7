import { suffixedKey, type Footprint } from '../core/redis/key-names.js';
import { CLUSTER, CONNECTION, globbed, PERMISSIONS, type PermissionsOf } from './footprints.js';

/** To wake those who wait. */
const MESSAGES = ['ping', 'publish', 'subscribe', 'unsubscribe'];
/** In a Cluster ioredis gives its connections names, and goes on when it may not. */
const NAMES = ['client|setname'];
const ELSEWHERE = [...MESSAGES, 'wait', 'info'];

const all = Object.values(PERMISSIONS).flatMap(({ commands }): readonly string[] => commands);

/**
 * What a Redis user needs for the locks, and nothing else, as `doctor` tries it: by what fails
 * without it.
 */
export const COMMANDS = {
  /** By the scripts of all kinds of locks, and to run them. */
  locks: [...new Set([...CONNECTION, ...all])].filter((command) => !ELSEWHERE.includes(command)),
  messages: MESSAGES,
  /** With `minReplicas`. */
  replicas: ['wait'],
  /** By the nodes of a red lock, and by ioredis when it connects. */
  identity: ['info'],
  /** With a database other than 0. */
  database: ['select'],
  /** In a Cluster: to find its nodes, and to wake by sharded messages. */
  cluster: CLUSTER.filter((command) => !NAMES.includes(command)),
  names: NAMES,
} as const satisfies Record<string, readonly string[]>;

/** What the channels of all locks begin with, as an ACL rule says it. */
export const CHANNEL_PATTERNS = ['redisson_*', 'nestjs_*'] as const;

/** As above for keys; the prefix is that of the module. */
export function keyPatterns(keyPrefix: string): string[] {
  return [`${keyPrefix}*`, `{${keyPrefix}*`, 'redisson_*', 'nestjs_*'];
}

/** What one service, or option, needs; keys and channels as an example of each, by the pattern for a rule. */
export interface Need {
  readonly name: PermissionsOf;
  readonly commands: readonly string[];
  readonly keys: ReadonlyMap<string, string>;
  readonly channels: ReadonlyMap<string, string>;
}

export function needsOf(key: string, keyPrefix: string): Need[] {
  const prefix = globbed(keyPrefix);
  // A prefix with a tag of its own comes without further braces; without one, names may bring a tag.
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
