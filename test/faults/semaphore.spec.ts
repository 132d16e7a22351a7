import { describe, expect, it } from '@jest/globals';

import { SemaphoreService } from '../../libs/redis-lock/src/primitives/semaphore/semaphore-service.js';
import { useLocks, useProxy } from '../support/lock-client.js';
import {
  eventually,
  seededRandom,
  useRealRedis,
  useWorkers,
  type Worker,
} from '../support/set-up.js';
import type { Api, PermitWork } from '../support/workers/permit-crowd.worker.js';
import { pause } from './support/pace.js';
import { PermitReferee } from './support/permit-referee.js';

const FILE = new URL('../support/workers/permit-crowd.worker.ts', import.meta.url);
const NAME = 'gateway';
const CAPACITY = 12;
const PROCESSES = 3;
const LEASE_MS = 1_000;

describe('SemaphoreService in three processes', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const refereeServer = useRealRedis();
  const workers = useWorkers();
  const open = useLocks(redis, (context) => new SemaphoreService(context));

  it('lets no more in than there are, and loses none, under kills and cuts: 10,000 sections', async () => {
    const random = seededRandom('faults/semaphore');
    const referee = new PermitReferee(refereeServer.admin, CAPACITY);
    const semaphore = open().locks.get(NAME);
    await semaphore.setPermits(CAPACITY);
    const work: PermitWork = {
      ...{ name: NAME, callers: 8, permits: 3, sections: 10_000, waitTimeMs: 5_000 },
    };

    // Every other one stands behind the faults of the network.
    const start = async (place: number): Promise<Worker<Api>> => {
      const worker = await workers.start<Api>(FILE);
      const settings = { watchdogLeaseMs: LEASE_MS, pollIntervalMs: 200 };
      const url = place % 2 === 0 ? redis.url : proxy.current.url;
      await worker.call.open(url, refereeServer.url, CAPACITY, settings);
      return worker;
    };
    const run = (worker: Worker<Api>): Running => {
      const done = worker.call.run(work, String(random.next()));
      // A killed one does not finish.
      done.catch(() => undefined);
      return { worker, done };
    };
    const first = await Promise.all(Array.from({ length: PROCESSES }, (_, place) => start(place)));
    // The crowd, whose sections are short, may never be all inside at once.
    const share = CAPACITY / PROCESSES;
    await Promise.all(first.map(({ call }) => call.fillUp(NAME, share)));
    const herd = first.map(run);

    proxy.current.loseReply({
      ...{ containing: 'evalsha', times: 12, where: () => random.chance(0.01) },
    });
    let [kills, cuts] = [0, 0];
    for (let sections = 0; sections < work.sections; sections = await referee.sections()) {
      if (sections > (kills + 1) * 2_000) {
        const victim = random.int(0, PROCESSES - 1);
        await herd[victim]?.worker.kill();
        herd[victim] = run(await start(victim));
        kills += 1;
      }
      if (sections > (cuts + 1) * 1_500) {
        proxy.current.cut();
        cuts += 1;
      }
      await pause(20);
    }
    await proxy.current.heal();
    await Promise.all(herd.map(({ done }) => done));

    expect(await referee.violations()).toEqual([]);
    expect(await referee.most()).toBe(CAPACITY);
    // While a process starts the others may be far ahead.
    expect(kills).toBeGreaterThanOrEqual(2);
    expect(cuts).toBeGreaterThanOrEqual(2);
    await Promise.all(herd.map(({ worker }) => worker.call.close()));
    await eventually(async () => (await semaphore.acquiredPermits()) === 0);
    expect(await semaphore.permits()).toBe(CAPACITY);
    // All of them can be had.
    await (await semaphore.acquire({ permits: CAPACITY })).release();
    expect(await redis.admin.get(NAME)).toBe(String(CAPACITY));
    await Promise.all(herd.map(({ worker }) => worker.end()));
  });
});

interface Running {
  readonly worker: Worker<Api>;
  /** Resolves when the work is done. */
  readonly done: Promise<void>;
}
