import type { Cluster } from 'ioredis';

import { describeValue, LockConfigurationError } from '../core/api/errors.js';
import { ANSWER_MS } from '../core/redis/connection.js';
import { isRefusal } from './reply-error.js';

/** How releases are announced and received in a Cluster; elsewhere always by PUBLISH. */
export type PublishOption = 'auto' | 'plain' | 'sharded' | 'both';

const OPTIONS: readonly unknown[] = ['auto', 'plain', 'sharded', 'both'];

/** @throws {LockConfigurationError} it is none */
export function publishOption(value: unknown): PublishOption {
  if (OPTIONS.includes(value)) return value as PublishOption;
  throw new LockConfigurationError(
    `publish must be 'auto', 'plain', 'sharded' or 'both', not ${describeValue(value)}`,
  );
}

/**
 * Asks a Cluster as Redisson does: one that answers PUBSUB SHARDNUMSUB has sharded messages.
 * Undefined when no node has answered.
 */
export async function detectMode(cluster: Cluster): Promise<'plain' | 'sharded' | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ANSWER_MS, undefined).unref();
  });
  const answer = cluster.call('PUBSUB', 'SHARDNUMSUB').then(
    () => 'sharded' as const,
    (error: unknown) => (isRefusal(error) ? ('plain' as const) : undefined),
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
