import { tokenKey } from '../core/fencing-token.js';
import { grantChannel, lineKeys } from '../core/hand-off.js';
import { helperKey, suffixedKey } from '../core/key-space.js';
import { CLUSTER, CONNECTION, PERMISSIONS } from '../core/permissions.js';

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

const HELPERS = [
  ...['redisson_lock_queue', 'redisson_lock_timeout', 'nestjs_fair_waiting'],
  ...['nestjs_rwlock_writers', 'nestjs_rwlock_patience', 'nestjs_rwlock_readers'],
  ...['nestjs_rwlock_turn', 'nestjs_semaphore_waiting', 'nestjs_semaphore_request'],
  ...['nestjs_latch_request', 'nestjs_fence', 'nestjs_replicated'],
];

/** A key of each sort that a lock may have, by the pattern that a rule needs for it. */
export function keysByPattern(key: string, keyPrefix: string): Map<string, string> {
  const helpers = [
    ...[tokenKey(key), ...Object.values(lineKeys(key, 'lock'))],
    ...[...Object.values(lineKeys(key, 'rwlock')), ...HELPERS.map((name) => helperKey(name, key))],
  ];
  return new Map([
    [`${keyPrefix}*`, key],
    [`{${keyPrefix}*`, suffixedKey(key, 'timeout')],
    ...helpers.map((helper) => [patternOf(helper), helper] as const),
  ]);
}

/** As above for channels. */
export function channelsByPattern(key: string, client: string): Map<string, string> {
  const channels = [
    ...['redisson_lock__channel', 'redisson_rwlock', 'redisson_sc'].map((name) =>
      helperKey(name, key),
    ),
    `redisson_countdownlatch__channel__{${key}}`,
    ...[grantChannel(key, client, 'lock'), grantChannel(key, client, 'rwlock')],
  ];
  return new Map(channels.map((channel) => [patternOf(channel), channel]));
}

/** What is before the name. */
function patternOf(helper: string): string {
  return `${/^\w+:?/.exec(helper)?.[0] ?? ''}*`;
}
