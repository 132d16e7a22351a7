import { expect } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LockStateError } from 'nestjs-redis-lock/core';
import { NO_COUNTS } from './deliver.js';
import type { RedisFixture } from './redis-server.js';

/** Another application may have this under the key `a`; `write` puts it there. */
export type ForeignKey = readonly [what: string, write: (redis: Redis) => Promise<unknown>];

/** Keys that are no counter. */
export const OTHER_THAN_COUNTS: ForeignKey[] = [
  ...NO_COUNTS.map((value): ForeignKey => [
    JSON.stringify(value),
    (admin) => admin.set('a', value),
  ]),
  ['a lock', (admin) => admin.hset('a', 'owner', 1)],
  ['a list', (admin) => admin.rpush('a', '1')],
  ['a sorted set', (admin) => admin.zadd('a', 1, 'x')],
  ['a stream', (admin) => admin.xadd('a', '*', 'x', 'y')],
];

/** Each of the calls is refused for what the key `a` holds, and that stays as it is. */
export async function expectUntouched(
  { admin }: RedisFixture,
  calls: readonly (() => unknown)[],
): Promise<void> {
  const [before, ttl] = [await admin.dump('a'), await admin.pttl('a')];
  for (const call of calls) {
    const error = await Promise.resolve(call()).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LockStateError);
    expect(error).toMatchObject({ code: 'LOCK_STATE', lockName: 'a' });
  }
  expect(await admin.dump('a')).toEqual(before);
  expect((await admin.pttl('a')) > 0).toBe(ttl > 0);
}
