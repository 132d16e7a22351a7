import { describe, expect, it } from '@jest/globals';
import { useWorkers } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { useRedis } from '../support/redis-server.js';
import { FOREIGN_OWNER } from '../support/redisson.js';
import type { Api } from './leaks.worker.js';

const FILE = new URL('leaks.worker.ts', import.meta.url);
const MEGABYTE = 2 ** 20;

describe('LockService in a process of its own', () => {
  const redis = useRedis();
  const workers = useWorkers();

  const start = async () => {
    const worker = await workers.start<Api>(FILE, { execArgv: ['--expose-gc'] });
    await worker.call.open(redis.url);
    for (let i = 0; i < 10; i += 1) await redis.admin.hset(`held:${i}`, FOREIGN_OWNER, 1);
    return worker;
  };

  type Call = Awaited<ReturnType<typeof start>>['call'];

  // test/faults/leaks.spec.ts does more of the slower ones.
  it.each<[number, string, (call: Call, cycles: number) => Promise<void>]>([
    [100_000, 'waiters that give up', (call, cycles) => call.wait(cycles)],
    [
      10_000,
      'attempts on new names that are given up',
      (call, cycles) => call.names(cycles, cycles),
    ],
    [2_000, 'locks that are taken, nested, and given back', (call, cycles) => call.take(cycles)],
  ])(
    'keeps nothing of %d %s',
    async (cycles, _, run) => {
      const { call, unhandled } = await start();
      await run(call, 1_000);
      await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0);
      const before = await call.footprint();
      await run(call, cycles);
      await eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0);
      await eventually(async () => {
        const after = await call.footprint();
        expect(after.heapUsed - before.heapUsed).toBeLessThan(5 * MEGABYTE);
        expect(after.timers).toBeLessThanOrEqual(before.timers);
        expect(after.sockets).toBeLessThanOrEqual(before.sockets);
      });
      await eventually(async () => (await redis.admin.dbsize()) === 10);
      expect(unhandled).toEqual([]);
    },
    60_000,
  );

  it('lets the process end by itself once it is closed, whatever it has done', async () => {
    const worker = await start();
    await worker.call.wait(500);
    await worker.call.names(500, 0);
    await worker.call.close();
    await eventually(async () => (await redis.clients()).length === 0);
    expect(await worker.end()).toMatchObject({ code: 0, stderr: '' });
  });
});
