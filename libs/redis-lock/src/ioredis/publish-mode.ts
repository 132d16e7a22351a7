import type { Cluster } from 'ioredis';

import type { LockSettings } from '../core/api/settings.js';
import { ANSWER_MS } from '../core/redis/connection.js';
import { isRefusal } from './reply-error.js';

export type PublishOption = LockSettings['publish'];

/**
 * Checks a Cluster as Redisson does: if it answers PUBSUB SHARDNUMSUB, it has sharded messages.
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
