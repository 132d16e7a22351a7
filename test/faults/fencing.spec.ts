import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import initSqlJs, { type Database } from 'sql.js';

import { useRealRedis, useWorkers, type Worker } from '../support/set-up.js';
import type { Api } from '../support/workers/guarded.worker.js';

const GUARDED = new URL('../support/workers/guarded.worker.ts', import.meta.url);
const settings = { watchdogLeaseMs: 600, pollIntervalMs: 50, waitTimeMs: 20_000 };

/** The story of docs/fencing.md, with real processes. */
describe('a process that is stopped in the middle of its work', () => {
  const redis = useRealRedis();
  const workers = useWorkers();
  let first: Worker<Api>;
  let second: Worker<Api>;
  let database: Database;

  beforeEach(async () => {
    const { Database } = await initSqlJs();
    database = new Database();
    database.run('CREATE TABLE product (id TEXT PRIMARY KEY, left INTEGER, fence BIGINT)');
    database.run("INSERT INTO product VALUES ('product_1', 10, NULL)");
    [first, second] = await Promise.all([workers.start<Api>(GUARDED), workers.start<Api>(GUARDED)]);
    await Promise.all([first, second].map((worker) => worker.call.open(redis.url, settings)));
  });
  afterEach(() => {
    database.close();
  });

  const left = async () => ({
    redis: await redis.admin.hget('stock', 'left'),
    sql: database.exec('SELECT left FROM product')[0]?.values[0]?.[0],
  });
  /** Both resources at once: what Redis says, and how many rows were changed. */
  const write = async (worker: Worker<Api>, stock: number) => {
    const [text, values] = await worker.call.update('product_1', stock);
    return [await worker.call.write('stock', stock), database.run(text, values).getRowsModified()];
  };

  it('has its late write refused, in Redis and in a database', async () => {
    await first.call.acquire('product_1');
    expect(await write(first, 9)).toEqual(['written', 1]);

    first.pause();
    // The lease ends since no client renews it, and the next owner gets in.
    await second.call.acquire('product_1');
    expect(await write(second, 8)).toEqual(['written', 1]);

    const late = write(first, 99);
    first.resume();
    expect(await late).toEqual(['overtaken', 0]);
    expect(await left()).toEqual({ redis: '8', sql: 8 });
    expect(await write(second, 7)).toEqual(['written', 1]);
    expect(await left()).toEqual({ redis: '7', sql: 7 });
    await Promise.all([first.call.close(), second.call.close()]);
  });

  it('writes still when no newer owner has written meanwhile', async () => {
    await first.call.acquire('product_1');
    expect(await write(first, 9)).toEqual(['written', 1]);
    first.pause();
    // The lease ends; another owner holds the lock and writes nothing.
    await second.call.acquire('product_1');
    const late = write(first, 8);
    first.resume();
    expect(await late).toEqual(['written', 1]);
    // From here on the newer one has been there.
    expect(await write(second, 7)).toEqual(['written', 1]);
    expect(await write(first, 99)).toEqual(['overtaken', 0]);
    expect(await left()).toEqual({ redis: '7', sql: 7 });
    await Promise.all([first.call.close(), second.call.close()]);
  });
});
