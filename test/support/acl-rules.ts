import {
  CONNECTION,
  globbed,
  PERMISSIONS,
  type PermissionsOf,
} from '../../libs/redis-lock/src/cli/permissions.js';
import type { Footprint } from '../../libs/redis-lock/src/core/redis/key-names.js';

/**
 * The rules for `ACL SETUSER` by which a user may do all of that, and nothing else, under a `keyPrefix`
 * and by names without a tag of their own.
 */
export function aclRules(of: readonly PermissionsOf[], keyPrefix: string): string[] {
  // Each service records its process.
  const all: readonly Footprint[] = [...of, 'LockMonitor' as const].map((one) => PERMISSIONS[one]);
  const prefix = globbed(keyPrefix);
  const commands = [...CONNECTION, ...all.flatMap((one) => one.commands)];
  const keys = all.flatMap((one) => one.keys).map((key) => `~${key}{${prefix}*`);
  const channels = all.flatMap((one) => one.channels).map((channel) => `&${channel}{${prefix}*`);
  return [
    ...sorted(commands).map((command) => `+${command}`),
    `~${prefix}*`,
    ...sorted(keys),
    ...sorted(channels),
  ];
}

/** The channels of all locks begin with these, as an ACL rule says it. */
export const CHANNEL_PATTERNS = ['redisson_*', 'nestjs_*'] as const;

/** As above for keys; the prefix is that of the module. */
export function keyPatterns(keyPrefix: string): string[] {
  return [`${keyPrefix}*`, `{${keyPrefix}*`, 'redisson_*', 'nestjs_*'];
}

function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
