import type { Lock } from 'nestjs-redis-lock';
import { eventually } from '../support/eventually.js';
import type { OpenLocks } from '../support/lock-client.js';
import type { RedisFixture } from '../support/redis-server.js';
import type { HandedLocks } from '../contract/handed.js';
import type { JavaFixture, JavaObject } from './redisson.js';

/** Both sides know these objects under the name `a`. */
export interface Sides<Locks> {
  readonly redis: RedisFixture;
  readonly java: JavaFixture;
  readonly open: OpenLocks<Locks>;
  readonly ours: (locks: Locks) => Lock;
  readonly theirs: JavaObject;
  /**
   * The waiters of Redisson 3.16's fair lock expect the end of the lease that they saw first. Once
   * that was renewed they wait for a message, and sleep through the end of a crashed holder.
   */
  readonly javaSleepsOn?: boolean;
  /** How it is handed on, past outsiders. */
  readonly handed?: HandedLocks;
}

/** The unit of a time that is an argument. */
export const MS = 'MILLISECONDS';
/** So long does Java wait where the spec is over long before. */
export const LONG_MS = 25_000;
/** Our waiters learn of a release only by a message. */
export const NO_POLL = { pollIntervalMs: 60_000, waitTimeMs: 60_000 };
/** Far below the leases of 30 s whose end would wake a waiter without a message. */
export const BY_MESSAGE_MS = 2_500;

/** The watchdog of a side that is to die. */
export const WATCHDOG_MS = 1_500;
export const NOT_THE_HOLDER = { type: 'IllegalMonitorStateException' };
export const LEASE_LOST = { code: 'LEASE_LOST' };

/** How many subscriptions there are, of both sides. */
export async function subscriptions(redis: RedisFixture): Promise<number> {
  const channels = await redis.wakeUpChannels();
  if (channels.length === 0) return 0;
  const counts = await redis.admin.pubsub('NUMSUB', ...channels);
  return counts.reduce<number>((sum, count, i) => (i % 2 === 1 ? sum + Number(count) : sum), 0);
}

export async function listening(redis: RedisFixture, count: number): Promise<void> {
  await eventually(async () => (await subscriptions(redis)) === count);
}
