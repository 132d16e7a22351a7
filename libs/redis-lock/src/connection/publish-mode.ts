import type { LockSettings } from '../core/api/settings.js';
import { ANSWER_MS } from '../core/redis/connection.js';
import type { Clock, Timer } from '../core/time/clock.js';
import type { ClusterClient } from './client.js';
import { isRefusal } from './reply-error.js';

export type PublishOption = LockSettings['publish'];

/**
 * Checks a Cluster as Redisson does: if it answers PUBSUB SHARDNUMSUB, it has sharded messages.
 * Undefined when no node has answered.
 */
export async function detectMode(
  cluster: ClusterClient,
  clock: Clock,
): Promise<'plain' | 'sharded' | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = clock.after(ANSWER_MS, () => {
      resolve(undefined);
    });
    timer?.unref();
  });
  const answer = cluster.send('pubsub', 'shardnumsub').then(
    () => 'sharded' as const,
    (error: unknown) => (isRefusal(error) ? ('plain' as const) : undefined),
  );
  try {
    return await Promise.race([answer, late]);
  } finally {
    clock.cancel(timer);
  }
}
