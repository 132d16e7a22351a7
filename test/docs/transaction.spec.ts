import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from '../support/child.js';
import { eventually, useRealRedis, watch } from '../support/set-up.js';
import type { Api } from './transaction.worker.js';

const redis = useRealRedis();
let folder: string;
let one: Worker<Api>;
let two: Worker<Api>;

/** Two instances, because a lock that excludes only its own process would pass in one. */
beforeAll(async () => {
  const file = new URL('transaction.worker.ts', import.meta.url);
  const env = { REDIS_URL: redis.url };
  [one, two] = [new Worker<Api>(file, { env }), new Worker<Api>(file, { env })];
  await Promise.all([one.ready, two.ready]);
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recipe-'));
});
afterEach(async () => {
  await Promise.all([one.call.close(), two.call.close()]);
  await rm(folder, { recursive: true });
  await redis.admin.flushall();
});
afterAll(async () => {
  const unhandled = [...one.unhandled, ...two.unhandled];
  await Promise.all([one.kill(), two.kill()]);
  expect(unhandled).toEqual([]);
});

describe('a transaction with the lock outside', () => {
  /** The database is a file that each has a connection to, with snapshots (WAL). */
  const start = async (point: 'UPDATE' | 'COMMIT' = 'COMMIT') => {
    for (const { call } of [one, two]) await call.start(join(folder, 'shop.db'));
    await one.call.stock(1);
    for (const { reports } of [one, two]) reports.length = 0;
    // One transaction waits there, so that nothing depends on how fast any process is.
    await one.call.shut(point);
  };
  const isBeforeCommit = () => eventually(() => one.reports.includes('before COMMIT'));

  it('holds the lock until the commit, and the next one reads what is left', async () => {
    await start();
    const first = one.call.buy('right');
    await isBeforeCommit();
    expect(await redis.admin.exists('product_A')).toBe(1);
    const second = watch(two.call.buy('right'));
    await eventually(() => redis.admin.exists('nestjs_lock_queue:{product_A}').then(Boolean));
    expect(two.reports).toEqual([]);
    await one.call.open();
    expect(await first).toBe(0);
    await expect(second.promise).rejects.toThrow('sold out');
    expect(two.reports).toContainEqual({ pieces: 0 });
    expect(await redis.admin.exists('product_A')).toBe(0);
  });

  it('in the wrong order the lock is free before the commit, and the next one reads the old stock', async () => {
    await start();
    const first = one.call.buy('wrong');
    await isBeforeCommit();
    expect(await redis.admin.exists('product_A')).toBe(0);
    const second = watch(two.call.buy('wrong'));
    await eventually(() => {
      expect(two.reports).toContainEqual({ pieces: 1 });
    });
    await one.call.open();
    expect(await first).toBe(0);
    // SQLite refuses to write upon an old snapshot; a database that does not has sold one piece twice.
    await expect(second.promise).rejects.toThrow(/SQLITE_BUSY|database is locked/);
  });

  it('rolls back when the lock was lost before the commit', async () => {
    await start('UPDATE');
    const first = watch(one.call.buy('right'));
    await eventually(() => one.reports.includes('before UPDATE'));
    await redis.admin.del('product_A');
    await one.call.open();
    await expect(first.promise).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await two.call.left()).toBe(1);
  });
});
