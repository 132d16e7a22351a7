import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { useWorkers } from '../support/child.js';
import { eventually } from '../support/eventually.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { seededRandom } from '../support/random.js';
import { useRedis } from '../support/redis-server.js';
import type { Api } from '../workers/latch.worker.js';
import { cutDuring } from './support/random-cuts.js';

const WORKER = new URL('../workers/latch.worker.ts', import.meta.url);
const PROCESSES = 4;
const [LANES, ROUNDS] = [200, 10];

describe('LatchService in four processes, on a network that fails', () => {
  const redis = useRedis();
  const referee = useRedis();
  const workers = useWorkers();
  let proxy: FaultProxy;

  beforeEach(async () => {
    proxy = await FaultProxy.start({ port: redis.port });
  });
  afterEach(() => proxy.close());

  it('opens when all have come, and not before: 2,000 rounds', async () => {
    const herd = await Promise.all(
      Array.from({ length: PROCESSES }, () => workers.start<Api>(WORKER)),
    );
    await Promise.all(herd.map(({ call }) => call.open(proxy.url, referee.url)));
    const size = { lanes: LANES, rounds: ROUNDS, processes: PROCESSES };
    const running = Promise.all(herd.map(({ call }) => call.run(size)));
    const violations = await cutDuring(proxy, seededRandom('latch/faults'), 20, running);

    expect(violations.flat()).toEqual([]);
    expect(proxy.counts.cut).toBeGreaterThan(50);
    expect(await referee.admin.dbsize()).toBe(LANES * ROUNDS);
    await eventually(async () => expect(await redis.admin.keys('latch_*')).toEqual([]));
    for (const note of await redis.admin.keys('nestjs_latch_request:*')) {
      expect(await redis.admin.pttl(note)).not.toBe(-1);
    }
    await Promise.all(herd.map(({ call }) => call.close()));
    await Promise.all(herd.map((worker) => worker.end()));
  });
});
