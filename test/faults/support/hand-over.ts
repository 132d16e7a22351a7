import type { Redis } from 'ioredis';

import { helperKey } from '../../../libs/redis-lock/src/core/redis/key-names.js';
import { eventually } from '../../support/eventually.js';
import type { Application } from './application.js';

export interface Parties {
  holder: Application;
  waiter: Application;
  /** How many connections listen to a channel. */
  listeners: (channel: string) => Promise<number>;
}

const WAIT_MS = 60_000;

/**
 * One application has the lock and another waits for it, subscribed to its channel; then `before`
 * happens and the holder releases.
 * @returns how long the waiter waited on a free lock, in milliseconds
 */
export async function handOver(
  { holder, waiter, listeners }: Parties,
  name: string,
  before: () => Promise<void> = () => Promise.resolve(),
  waitTimeMs = WAIT_MS,
): Promise<number> {
  const held = await holder.locks.acquire(name, { waitTimeMs: WAIT_MS });
  const waiting = waiter.locks
    .acquire(name, { waitTimeMs })
    .then((lease) => ({ lease, at: performance.now() }));
  const isSubscribed = async () => (await listeners(channelOf(name))) > 0;
  await eventually(isSubscribed, { withinMs: 20_000 });
  await before();
  await held.release();
  const releasedAt = performance.now();
  const { lease, at } = await waiting;
  await lease.release();
  return at - releasedAt;
}

/** Hand-overs side by side, one after the other until it is enough; how long each waiter waited. */
export async function handOversOf(
  parties: Parties,
  { keys, until }: { keys: number; until: () => boolean },
): Promise<number[]> {
  const waits: number[] = [];
  const series = Array.from({ length: keys }, async (_, i) => {
    do waits.push(await handOver(parties, `product_${String(i)}`));
    while (!until());
  });
  await Promise.all(series);
  return waits;
}

export const channelOf = (name: string) => helperKey('redisson_lock__channel', name);

/** `listeners` of a single server. */
export const listenersOn = (redis: { readonly admin: Redis }) => async (channel: string) => {
  const [, count] = await redis.admin.pubsub('NUMSUB', channel);
  return Number(count);
};
