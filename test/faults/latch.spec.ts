import { describe, expect, it } from '@jest/globals';

import { eventually, seededRandom, useProxy, useRealRedis, useWorkers } from '../support/set-up.js';
import type { Api } from '../support/workers/latch.worker.js';
import { cutDuring } from './support/random-cuts.js';

const WORKER = new URL('../support/workers/latch.worker.ts', import.meta.url);
const PROCESSES = 4;
const [LANES, ROUNDS] = [200, 10];

describe('LatchService in four processes, on a network that fails', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const referee = useRealRedis();
  const workers = useWorkers();

  it('opens when all have come, and not before: 2,000 rounds', async () => {
    const herd = await Promise.all(
      Array.from({ length: PROCESSES }, () => workers.start<Api>(WORKER)),
    );
    await Promise.all(herd.map(({ call }) => call.open(proxy.current.url, referee.url)));
    const size = { lanes: LANES, rounds: ROUNDS, processes: PROCESSES };
    const running = Promise.all(herd.map(({ call }) => call.run(size)));
    const violations = await cutDuring(proxy.current, seededRandom('latch/faults'), 20, running);

    expect(violations.flat()).toEqual([]);
    expect(proxy.current.counts.cut).toBeGreaterThan(50);
    expect(await referee.admin.dbsize()).toBe(LANES * ROUNDS);
    await eventually(async () => expect(await redis.admin.keys('latch_*')).toEqual([]));
    for (const note of await redis.admin.keys('nestjs_latch_request:*')) {
      expect(await redis.admin.pttl(note)).not.toBe(-1);
    }
    await Promise.all(herd.map(({ call }) => call.close()));
    await Promise.all(herd.map((worker) => worker.end()));
  });
});
