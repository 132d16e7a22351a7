import { beforeEach, describe, expect, it } from '@jest/globals';

import { useWorkers, type Worker } from '../support/child.js';
import { seededRandom } from '../support/random.js';
import { useRedis } from '../support/redis-server.js';
import type { Api } from '../workers/readers-and-writers.worker.js';
import { clashesIn, unpack, type Visit } from './support/read-write-history.js';
import { counterOf } from './support/readers-and-writers.js';

const WORKER = new URL('../workers/readers-and-writers.worker.ts', import.meta.url);
const PROCESSES = 4;
const LOCKS = 6;

describe('ReadWriteLockService in four processes', () => {
  const redis = useRedis();
  const referee = useRedis();
  const workers = useWorkers();
  let processes: Worker<Api>[];

  beforeEach(async () => {
    processes = await Promise.all(
      Array.from({ length: PROCESSES }, () => workers.start<Api>(WORKER)),
    );
    await Promise.all(processes.map(({ call }, i) => call.open(redis.url, referee.url, i)));
  });

  it.each([80, 20])(
    'lets a writer be alone, with %d %% of 10,000 sections reading, and every tenth write goes on reading',
    async (percent) => {
      const random = seededRandom(`read-write/${String(percent)}`);
      const work = {
        locks: LOCKS,
        callers: 8,
        sections: 10_000 / PROCESSES,
        reads: percent / 100,
        downgrades: 0.1,
      };
      const reports = await Promise.all(
        processes.map(({ call }) => call.run(work, String(random.next()))),
      );

      const visits = reports.flatMap((report) => unpack(report.visits));
      expect(visits.length).toBeGreaterThanOrEqual(10_000);
      expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
      expect(clashesIn(visits)).toEqual([]);
      for (let lock = 0; lock < LOCKS; lock += 1) {
        const increments = reports.reduce((sum, report) => sum + (report.increments[lock] ?? 0), 0);
        expect(Number(await referee.admin.get(counterOf(lock)))).toBe(increments);
      }

      await Promise.all(processes.map(({ call }) => call.close()));
      await Promise.all(processes.map((process) => process.end()));
      expect(await redis.admin.keys('*')).toEqual([]);
      expect(await redis.admin.pubsub('CHANNELS')).toEqual([]);
    },
  );
});

describe('the check of such a history', () => {
  const visit = (side: Visit['side'], party: number, startUs: number, endUs: number): Visit => ({
    ...{ lock: 0, side, party, startUs, endUs },
  });

  it('accepts readers side by side, a writer with its own reads, and who leaves as another enters', () => {
    const visits = [
      ...[visit('read', 1, 0, 10), visit('read', 2, 5, 15)],
      ...[visit('write', 3, 15, 20), visit('read', 3, 18, 30), visit('read', 4, 20, 25)],
      { ...visit('write', 5, 0, 30), lock: 1 },
    ];
    expect(clashesIn(visits)).toEqual([]);
  });

  it.each([
    ['two writers', visit('write', 1, 0, 10), visit('write', 2, 9, 12)],
    ['a writer among readers', visit('read', 1, 0, 10), visit('write', 2, 5, 6)],
    ['a reader with a writer', visit('write', 1, 0, 10), visit('read', 2, 5, 6)],
    ['a writer between a write and its reads', visit('read', 1, 0, 10), visit('write', 2, 1, 2)],
  ])('finds %s', (_, first, second) => {
    expect(clashesIn([second, first])).toHaveLength(1);
  });
});
