import { describe, expect, it } from '@jest/globals';

import { eventually, useRealRedis, useWorkers, type Worker } from '../support/set-up.js';
import type { Api, Farewell, Load } from '../support/workers/service.worker.js';

const SERVICE = new URL('../support/workers/service.worker.ts', import.meta.url);
const LOAD = { obedient: 50, stubborn: 50, waiters: 200 };
const SHUTDOWN_MS = 500;
/** Closing may take so much longer when Redis does not answer: two waits of 1 or 2 s each. */
const NO_ANSWER_MS = 3_000;

/** Renewals are on their way all the time. */
const settings = { watchdogLeaseMs: 3_000, shutdownTimeoutMs: SHUTDOWN_MS, pollIntervalMs: 200 };

describe('a service that is told to end while it is busy', () => {
  const redis = useRealRedis();
  const workers = useWorkers();

  async function startService(
    whose: Parameters<Api['open']>[1],
    load: Load = LOAD,
  ): Promise<Worker<Api>> {
    const service = await workers.start<Api>(SERVICE);
    await service.call.open(redis.url, whose, settings);
    await service.call.work(load);
    return service;
  }

  async function sigterm(service: Worker<Api>): Promise<Farewell> {
    service.signal('SIGTERM');
    await eventually(() => service.reports.length > 0, { withinMs: 20_000 });
    const [farewell] = service.reports as [Farewell];
    return farewell;
  }

  it.each(['ours', 'the caller’s'] as const)(
    'holds nothing, keeps no caller waiting and ends by itself: the connection is %s',
    async (whose) => {
      const first = await startService(whose);
      const second = await startService(whose, { obedient: 0, stubborn: 0, waiters: LOAD.waiters });
      const farewell = await sigterm(first);
      expect(farewell).toMatchObject({
        obedient: { done: LOAD.obedient },
        stubborn: { LEASE_LOST: LOAD.stubborn },
        waiters: { LOCK_SHUTDOWN: LOAD.waiters },
        latecomer: 'LOCK_SHUTDOWN',
      });
      expect(farewell.tookMs).toBeLessThan(5 * SHUTDOWN_MS);
      expect(await first.end()).toMatchObject({ code: 0, stderr: '' });

      // One waiter for each lock that was released has got in; the others get an error.
      await eventually(async () => {
        expect(await redis.keys()).toHaveLength(LOAD.stubborn);
      });
      expect(await sigterm(second)).toMatchObject({
        waiters: { done: LOAD.stubborn, LOCK_SHUTDOWN: LOAD.waiters - LOAD.stubborn },
      });
      expect(await second.end()).toMatchObject({ code: 0, stderr: '' });

      expect([...first.unhandled, ...second.unhandled]).toEqual([]);
      expect(await redis.admin.keys('*')).toEqual([]);
      expect(await redis.admin.pubsub('CHANNELS')).toEqual([]);
      expect(await redis.clients()).toEqual([]);
    },
  );

  it.each(['is down', 'hangs'])('ends in time although Redis %s', async (how) => {
    const service = await startService('ours');
    if (how === 'hangs') redis.pause();
    else await redis.kill();
    const farewell = await sigterm(service);
    const exit = await service.end(10_000);
    if (how === 'hangs') redis.resume();
    else await redis.start();

    expect(farewell).toMatchObject({
      stubborn: { LEASE_LOST: LOAD.stubborn },
      waiters: { LOCK_SHUTDOWN: LOAD.waiters },
      latecomer: 'LOCK_SHUTDOWN',
    });
    // The work of these was done; that their locks could not be released is no reason to fail it.
    expect(farewell.obedient.done ?? 0).toBe(LOAD.obedient);
    expect(farewell.tookMs).toBeLessThan(5 * (SHUTDOWN_MS + NO_ANSWER_MS));
    expect(exit).toMatchObject({ code: 0, stderr: '' });
    expect(service.unhandled).toEqual([]);
    await eventually(async () => expect(await redis.admin.keys('*')).toEqual([]));
  });
});
