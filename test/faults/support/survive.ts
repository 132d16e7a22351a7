import { expect } from '@jest/globals';

import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import type { WorkerHerd } from '../../support/child.js';
import { eventually } from '../../support/eventually.js';
import type { Random } from '../../support/random.js';
import type { RedisFixture } from '../../support/redis-server.js';
import type { Api } from '../../support/workers/crowd.worker.js';
import type { Manners } from './ways.js';
import { overlapsIn, staleTokensIn, type Story } from './history.js';
import { judge, totalsOf, type Totals } from './verdict.js';

const CROWD = new URL('../../support/workers/crowd.worker.ts', import.meta.url);
const PROCESSES = 2;
/** A run may take so long to notice that the longest lease is over. */
const SLACK_MS = 5_000;

export const ALL_MANNERS: Manners = {
  plain: 8,
  bare: 2,
  fenced: 3,
  nested: 4,
  siblings: 2,
  outliving: 1,
  try: 1,
  impatient: 1,
  aborting: 1,
  multi: 1,
};

/** Every caller has the time to wait for an answer too, so that no error is to be expected. */
export const PATIENT: Manners = { ...ALL_MANNERS, impatient: 0, try: 0 };

export interface Trial {
  workers: WorkerHerd;
  /** The server of the locks. */
  redis: RedisFixture;
  /** The way to it that the applications take. */
  lockUrl: string;
  referee: RedisFixture;
  story: Story;
  random: Random;
  /** Each has a client of its own. */
  instances: number;
  /** In each instance. */
  callers: number;
  keys: number;
  manners?: Manners;
  settings: Partial<LockSettings> & { watchdogLeaseMs: number };
  waitTimeMs?: number;
  /** The longest work in a section. */
  workMs?: number;
}

/**
 * Crowds of several processes work while `faults` lasts. Then all of it must have been in order, and
 * nothing may be left in Redis once the longest lease is over.
 */
export async function survive(trial: Trial, faults: () => Promise<void>): Promise<Totals> {
  const { workers, redis, referee, story, random, instances, settings } = trial;
  const crowds = await Promise.all(
    Array.from({ length: PROCESSES }, () => workers.start<Api>(CROWD)),
  );
  const opening = {
    lockUrls: Array.from({ length: instances / PROCESSES }, () => trial.lockUrl),
    refereeUrl: referee.url,
    witnessUrl: redis.url,
    settings,
  };
  await Promise.all(crowds.map(({ call }) => call.open(opening)));
  const work = {
    callers: trial.callers,
    manners: trial.manners ?? ALL_MANNERS,
    locks: Array.from({ length: trial.keys }, (_, i) => `product_${String(i)}`),
    sections: Infinity,
    waitTimeMs: trial.waitTimeMs ?? 5_000,
    workMs: trial.workMs ?? 2,
  };
  const running = Promise.all(crowds.map(({ call }) => call.run(work, String(random.next()))));
  // Should a worker break down, awaiting `running` below reports it.
  running.catch(() => undefined);
  await faults();
  await Promise.all(crowds.map(({ call }) => call.stop()));
  const totals = totalsOf((await running).flat(), story);

  expect(totals.violations).toEqual([]);
  expect(overlapsIn(story.sections)).toEqual([]);
  expect(staleTokensIn(story.sections)).toEqual([]);
  // A lost lease is reported, and its increment may meet another one; without any, all must be there.
  if (totals.lost === 0) expect(await judge(referee.admin, totals)).toEqual([]);
  const leftBehind = async () => {
    expect(await redis.admin.keys('product_*')).toEqual([]);
  };
  await eventually(leftBehind, { withinMs: settings.watchdogLeaseMs + SLACK_MS });
  await Promise.all(crowds.map(({ call }) => call.close()));
  await Promise.all(crowds.map((crowd) => crowd.end()));
  return totals;
}
