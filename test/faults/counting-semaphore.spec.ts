import { describe, expect, it } from '@jest/globals';

import { eventually, seededRandom, useProxy, useRealRedis, useWorkers } from '../support/set-up.js';
import type { Api } from '../support/workers/counting.worker.js';
import { cutDuring } from './support/random-cuts.js';

const WORKER = new URL('../support/workers/counting.worker.ts', import.meta.url);
const [PROCESSES, INSTANCES, CALLERS] = [2, 4, 8];
const SECTIONS = 3_000;
/** A quick machine is done with its sections before so many. */
const CUTS = 100;
const PERMITS = 5;
const NAMES = Array.from({ length: 8 }, (_, i) => `semaphore_${i}`);

/** No kills: what a killed holder has taken is gone, by design. */
describe('CountingSemaphore in two processes, on a network that fails', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const referee = useRealRedis();
  const workers = useWorkers();

  it('never lets too many in, and has every permit at the end: 3,000 sections', async () => {
    const random = seededRandom('counting-semaphore/faults');
    for (const name of NAMES) await redis.admin.set(name, PERMITS);
    const herd = await Promise.all(
      Array.from({ length: PROCESSES }, () => workers.start<Api>(WORKER)),
    );
    await Promise.all(herd.map(({ call }) => call.open(proxy.current.url, referee.url, INSTANCES)));
    const work = {
      names: NAMES,
      permits: PERMITS,
      callers: CALLERS,
      sections: SECTIONS / PROCESSES,
    };
    const run = () =>
      Promise.all(herd.map(({ call }) => call.run({ ...work, seed: String(random.next()) })));
    const runUntilCut = async () => {
      const reports = await run();
      while (proxy.current.counts.cut <= CUTS) reports.push(...(await run()));
      return reports;
    };
    const reports = await cutDuring(proxy.current, random, 40, runUntilCut());

    expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
    const sections = reports.reduce((sum, report) => sum + report.sections, 0);
    expect(sections).toBeGreaterThanOrEqual(SECTIONS);
    expect(proxy.current.counts.cut).toBeGreaterThan(CUTS);
    // Permits that callers released, or took back, while Redis was away arrive yet.
    await eventually(async () => {
      expect(await redis.admin.mget(NAMES)).toEqual(NAMES.map(() => String(PERMITS)));
    });
    await Promise.all(herd.map(({ call }) => call.close()));
    await Promise.all(herd.map((worker) => worker.end()));
    expect(await redis.admin.mget(NAMES)).toEqual(NAMES.map(() => String(PERMITS)));
    for (const note of await redis.admin.keys('nestjs_semaphore_request:*')) {
      expect(await redis.admin.pttl(note)).not.toBe(-1);
    }
  });
});
