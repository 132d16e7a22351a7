import type { Redis } from 'ioredis';

import { FOREIGN_CLIENT } from './redisson.js';

/** How the permit ids of a Java service begin here, so that ours are known from them. */
export const FOREIGN_PERMIT = FOREIGN_CLIENT.slice(0, 8);

/** The score of a permit without a lease. */
export const NO_LEASE = '922337203685477';

export const timeoutOf = (key: string) =>
  key.includes('{') ? `${key}:timeout` : `{${key}}:timeout`;
export const permitChannelOf = (key: string) =>
  key.includes('{') ? `redisson_sc:${key}` : `redisson_sc:{${key}}`;

/** The permits in use after this time, as our API and Redisson's show their ids. */
export async function permitIdsIn(redis: Redis, timeouts: string, since = 0): Promise<string[]> {
  const members = await redis.zrangebyscoreBuffer(timeouts, `(${String(since)}`, '+inf');
  return members.map((member) => member.toString('hex'));
}
