/**
 * What a user of Redis has to be allowed, by ACL. The scripts and the client decide; this list, from
 * which docs/security.md has its rules and `doctor` what it tries, is compared with them by
 * test/connections/permissions.spec.ts.
 */
export interface Permissions {
  readonly commands: readonly string[];
  /** What is before `{name}` in the keys beside the one of the plain name; '' is that itself. */
  readonly keys: readonly string[];
  readonly channels: readonly string[];
}

/** Where a helper key is one of several that begin alike: `nestjs_lock_queue`, `…_claims`, `…_opened`. */
const LINE = (kind: string) => ['queue', 'claims', 'opened'].map((of) => `nestjs_${kind}_${of}:`);
const HASH = ['del', 'exists', 'hexists', 'hget', 'hkeys', 'hlen', 'hset', 'pexpire', 'pttl'];
const TOKEN = ['get', 'set', 'time'];
const IN_LINE = ['hdel', 'pubsub|numsub', 'zadd', 'zpopmin', 'zrange', 'zrem'];

/** Of every connection, whatever is locked. */
export const CONNECTION = [
  'eval',
  'evalsha',
  'info',
  'ping',
  'publish',
  'subscribe',
  'unsubscribe',
];

/** Of a connection to a Cluster, besides. */
export const CLUSTER = [
  ...['client|setname', 'cluster|info', 'cluster|slots', 'pubsub|shardnumsub'],
  ...['spublish', 'ssubscribe', 'sunsubscribe'],
];

/** Of each service, or option. */
export const PERMISSIONS = {
  LockService: {
    commands: [...HASH, ...TOKEN, ...IN_LINE],
    keys: ['redisson_lock_token:', ...LINE('lock')],
    channels: ['redisson_lock__channel:', 'nestjs_lock_queue:'],
  },
  FairLockService: {
    commands: [
      ...[...HASH, ...TOKEN, 'hdel', 'hmget', 'lindex', 'linsert', 'llen', 'lpop', 'lpos'],
      ...['lrange', 'lrem', 'rpush', 'zadd', 'zcard', 'zrem', 'zscore'],
    ],
    keys: [
      ...['redisson_lock_token:', 'redisson_lock_queue:', 'redisson_lock_timeout:'],
      'nestjs_fair_waiting:',
    ],
    channels: ['redisson_lock__channel:'],
  },
  ReadWriteLockService: {
    commands: [
      ...[...HASH, ...TOKEN, ...IN_LINE],
      ...['hgetall', 'hmget', 'rename', 'zremrangebyscore', 'zscore'],
    ],
    keys: [
      ...['', 'redisson_lock_token:', ...LINE('rwlock')],
      ...['writers', 'patience', 'readers', 'turn'].map((of) => `nestjs_rwlock_${of}:`),
    ],
    channels: ['redisson_rwlock:', 'nestjs_rwlock_queue:'],
  },
  SemaphoreService: {
    commands: [
      ...['decrby', 'del', 'get', 'incrby', 'pexpire', 'pttl', 'set', 'time', 'zadd', 'zcard'],
      ...['zcount', 'zrange', 'zrem', 'zremrangebyrank', 'zscore'],
    ],
    keys: ['', 'nestjs_semaphore_waiting:', 'nestjs_semaphore_request:'],
    channels: ['redisson_sc:'],
  },
  LatchService: {
    commands: ['decr', 'del', 'get', 'set'],
    keys: ['nestjs_latch_request:'],
    channels: ['redisson_countdownlatch__channel__'],
  },
  RedLockService: {
    commands: [...HASH, ...TOKEN, 'info'],
    keys: ['redisson_lock_token:'],
    channels: ['redisson_lock__channel:'],
  },
  FencingGuard: { commands: ['get', 'set'], keys: ['nestjs_fence:'], channels: [] },
  minReplicas: { commands: ['set', 'wait'], keys: ['nestjs_replicated:'], channels: [] },
} as const satisfies Record<string, Permissions>;

export type PermissionsOf = keyof typeof PERMISSIONS;

/**
 * The rules for `ACL SETUSER` by which a user may do all of that, and nothing else, under a `keyPrefix`
 * and by names without a tag of their own.
 */
export function aclRules(of: readonly PermissionsOf[], keyPrefix: string): string[] {
  const all: readonly Permissions[] = of.map((one) => PERMISSIONS[one]);
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

/** As a pattern that stands for the text itself. */
export function globbed(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
