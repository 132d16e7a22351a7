import { beforeEach, describe, expect, it } from '@jest/globals';

import { seededRandom, useRealRedis, useWorkers, type Worker } from '../support/set-up.js';
import type { Api } from '../support/workers/crowd.worker.js';
import type { Work } from './support/crowd.js';
import { overlapsIn, staleTokensIn, telling } from './support/history.js';
import { judge, totalsOf } from './support/verdict.js';

const CROWD = new URL('../support/workers/crowd.worker.ts', import.meta.url);
const PROCESSES = 4;
const CALLERS = 32;
const WAIT_MS = 100_000;
/** With one key it takes as long as 6,000 hand-overs between processes. */
const TIMEOUT_MS = 300_000;

describe('LockService in four processes', () => {
  const redis = useRealRedis();
  const referee = useRealRedis();
  const workers = useWorkers();
  let crowds: Worker<Api>[];

  beforeEach(async () => {
    crowds = await Promise.all(Array.from({ length: PROCESSES }, () => workers.start<Api>(CROWD)));
    const opening = { lockUrls: [redis.url], refereeUrl: referee.url, witnessUrl: redis.url };
    await Promise.all(crowds.map(({ call }) => call.open(opening)));
  });

  const manySections: Omit<Work, 'sections' | 'locks'> = {
    callers: CALLERS,
    waitTimeMs: WAIT_MS,
    manners: { plain: 80, bare: 8, fenced: 8, nested: 2, siblings: 1, outliving: 1, multi: 1 },
  };

  it.each([
    { sections: 6_000, keys: 64 },
    { sections: 6_000, keys: 1 },
  ])(
    'lets one in at a time: $sections sections over $keys keys',
    async ({ sections, keys }) => {
      await telling(`mutual exclusion over ${String(keys)} keys`, async (story) => {
        const random = seededRandom(`mutual-exclusion/${String(keys)}`);
        const work = {
          ...manySections,
          locks: Array.from({ length: keys }, (_, i) => `product_${String(i)}`),
          sections: sections / PROCESSES,
        };
        const reports = await Promise.all(
          crowds.map(({ call }) => call.run(work, String(random.next()))),
        );
        const totals = totalsOf(reports.flat(), story);

        expect(totals.sections).toBeGreaterThanOrEqual(sections);
        expect(totals).toMatchObject({ lost: 0, timeouts: 0, backendErrors: 0, violations: [] });
        expect(overlapsIn(story.sections)).toEqual([]);
        expect(staleTokensIn(story.sections)).toEqual([]);
        expect(await judge(referee.admin, totals)).toEqual([]);
        expect(await redis.admin.keys('product_*')).toEqual([]);

        await Promise.all(crowds.map(({ call }) => call.close()));
        await Promise.all(crowds.map((crowd) => crowd.end()));
        expect(await redis.admin.pubsub('CHANNELS')).toEqual([]);
      });
    },
    TIMEOUT_MS,
  );
});
