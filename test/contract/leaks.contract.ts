import { describe, expect, it } from '@jest/globals';
import { useWorkers, type Worker } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { useRealRedis, type RedisFixture } from '../support/redis-server.js';
import { FOREIGN_OWNER } from '../support/redisson.js';
import type { Api } from '../support/workers/leaks.worker.js';

const FILE = new URL('../support/workers/leaks.worker.ts', import.meta.url);
const MEGABYTE = 2 ** 20;
const HELD = 10;
/** Each of the 2 clients has 1 socket for commands, and 1 for messages since it first had to wait. */
const SOCKETS = 4;

type Call = Worker<Api>['call'];

/** How often something is done, what it is, and how to do it. */
export type LeakCase = [number, string, (call: Call, cycles: number) => Promise<void>];

/**
 * A process that lives long keeps nothing.
 * @returns what further specs of the file need: the server, and a function that starts such a process
 */
export function describeLeaks(cases: LeakCase[]): {
  redis: RedisFixture;
  start: () => Promise<Worker<Api>>;
} {
  const redis = useRealRedis();
  const workers = useWorkers();

  const start = async () => {
    const worker = await workers.start<Api>(FILE, { execArgv: ['--expose-gc'] });
    await worker.call.open(redis.url);
    for (let i = 0; i < HELD; i += 1) await redis.admin.hset(`held:${i}`, FOREIGN_OWNER, 1);
    return worker;
  };
  const quiet = () => eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0);

  describe('a process that lives long', () => {
    it.each(cases)('keeps nothing of %d %s', async (cycles, _, run) => {
      const { call, unhandled } = await start();
      await run(call, 1_000);
      await quiet();
      const before = await call.footprint();
      await run(call, cycles);
      await quiet();
      await eventually(async () => {
        const after = await call.footprint();
        expect(after.heapUsed - before.heapUsed).toBeLessThan(5 * MEGABYTE);
        expect(after.timers).toBeLessThanOrEqual(before.timers);
        expect(after.sockets).toBeLessThanOrEqual(SOCKETS);
      });
      // The keys about readers and waiters end by their TTL.
      await eventually(async () => (await redis.admin.dbsize()) === HELD);
      expect(unhandled).toEqual([]);
    });
  });
  return { redis, start };
}
