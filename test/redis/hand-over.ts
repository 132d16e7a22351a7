import { expect } from '@jest/globals';
import type { RedisLockModuleOptions } from 'nestjs-redis-lock';
import type { RunningApp } from '../nest/applications.js';
import { eventually } from '../support/eventually.js';
import type { RedisFixture } from '../support/redis-server.js';

/** So rarely that only a message can be what wakes a waiter. */
const BY_MESSAGE = { tuning: { pollIntervalMs: 60_000 } } as const;

/**
 * Two applications that are set up alike: one takes a lock, the other one waits and is handed it by
 * message, and both close.
 */
export async function takesAndHandsOver(
  redis: RedisFixture,
  start: (options: RedisLockModuleOptions) => Promise<RunningApp>,
): Promise<void> {
  const [holder, waiter] = [await start(BY_MESSAGE), await start(BY_MESSAGE)];
  const held = await holder.locks.acquire('product_1', { fenced: true });
  const waiting = waiter.locks.acquire('product_1', { waitTimeMs: 60_000 });
  await eventually(async () => (await redis.admin.zcard('nestjs_lock_queue:{product_1}')) === 1);
  await held.release();
  const got = await waiting;
  got.assertHeld();
  expect(await redis.admin.hkeys('product_1')).toEqual([got.owner]);
  await got.release();
  await holder.nest.close();
  await waiter.nest.close();
  expect(await redis.admin.exists('product_1')).toBe(0);
}
