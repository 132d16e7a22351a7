import { describe, expect, it } from '@jest/globals';

import { eventually, seededRandom, useProxy, useRealRedis, useWorkers } from '../support/set-up.js';
import type { Api } from '../support/workers/readers-and-writers.worker.js';
import { cutDuring } from './support/random-cuts.js';
import { clashesIn, unpack, type Visit } from './support/read-write-history.js';
import { counterOf } from './support/readers-and-writers.js';

const WORKER = new URL('../support/workers/readers-and-writers.worker.ts', import.meta.url);
const PROCESSES = 4;
const LOCKS = 6;

describe('ReadWriteLockService in four processes', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const referee = useRealRedis();
  const workers = useWorkers();
  const places = Array.from({ length: PROCESSES }, (_, i) => i);
  const start = async (url: string, place: number, settings = {}) => {
    const worker = await workers.start<Api>(WORKER);
    await worker.call.open(url, referee.url, place, settings);
    return worker;
  };

  it.each([80, 20])(
    'lets a writer be alone, with %d %% of 3,000 sections reading, and every tenth write goes on reading',
    async (percent) => {
      const processes = await Promise.all(places.map((place) => start(redis.url, place)));
      const random = seededRandom(`read-write/${String(percent)}`);
      const work = {
        locks: LOCKS,
        callers: 8,
        sections: 3_000 / PROCESSES,
        reads: percent / 100,
        downgrades: 0.1,
      };
      const reports = await Promise.all(
        processes.map(({ call }) => call.run(work, String(random.next()))),
      );

      const visits = reports.flatMap((report) => unpack(report.visits));
      expect(visits.length).toBeGreaterThanOrEqual(3_000);
      expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
      expect(clashesIn(visits)).toEqual([]);
      for (let lock = 0; lock < LOCKS; lock += 1) {
        const increments = reports.reduce((sum, report) => sum + (report.increments[lock] ?? 0), 0);
        expect(Number(await referee.admin.get(counterOf(lock)))).toBe(increments);
      }

      await Promise.all(processes.map(({ call }) => call.close()));
      await Promise.all(processes.map((process) => process.end()));
      // When the lock was left to Java last is known for 3 s.
      await eventually(async () => expect(await redis.admin.keys('*')).toEqual([]));
      expect(await redis.admin.pubsub('CHANNELS')).toEqual([]);
    },
  );

  it('also while connections are cut and one of the processes is killed', async () => {
    const random = seededRandom('read-write/faults');
    const settings = { watchdogLeaseMs: 2_000, pollIntervalMs: 200 };
    const work = { locks: LOCKS, callers: 8, sections: 100, reads: 0.5, downgrades: 0.2 };
    const begin = async (place: number) => {
      const worker = await start(proxy.current.url, place, settings);
      const report = worker.call.run(work, String(random.next()));
      // A killed one does not finish.
      report.catch(() => undefined);
      return { worker, report };
    };
    const herd = await Promise.all(places.map(begin));
    const all = async () => {
      const [victim, ...others] = herd;
      const isBusy = async () => Number(await referee.admin.get(counterOf(0))) > 5;
      await eventually(isBusy, { withinMs: 20_000 });
      await victim?.worker.kill();
      others.push(await begin(PROCESSES));
      const reports = await Promise.all(others.map(({ report }) => report));
      return { others, reports };
    };
    const { others, reports } = await cutDuring(proxy.current, random, 50, all());

    expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
    expect(clashesIn(reports.flatMap(({ visits }) => unpack(visits)))).toEqual([]);
    expect(proxy.current.counts.cut).toBeGreaterThan(2);
    for (let lock = 0; lock < LOCKS; lock += 1) {
      const increments = reports.reduce((sum, report) => sum + (report.increments[lock] ?? 0), 0);
      // No report says how many increments the killed process has made.
      const count = Number(await referee.admin.get(counterOf(lock)));
      expect(count).toBeGreaterThanOrEqual(increments);
    }
    await Promise.all(others.map(({ worker }) => worker.call.close()));
    await Promise.all(others.map(({ worker }) => worker.end()));
    // The keys of the killed process end by themselves.
    for (const key of await redis.admin.keys('*')) {
      expect(await redis.admin.pttl(key)).not.toBe(-1);
    }
  });
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
