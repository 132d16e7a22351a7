import { describe, expect, it } from '@jest/globals';

import { useWorkers } from '../support/child.js';
import { seededRandom } from '../support/random.js';
import { useRedis } from '../support/redis-server.js';
import type { PlantedBug } from '../workers/crowd.worker.js';
import { contend } from './support/contest.js';
import { Story } from './support/history.js';

const WITHIN_MS = 60_000;

/** The workload of contended.spec.ts, as small as may be; there it goes well without a bug. */
describe('a contended lock', () => {
  const redis = useRedis();
  const referee = useRedis();
  const workers = useWorkers();

  it.each<[what: string, bug: PlantedBug, sections: number, finding: RegExp]>([
    [
      'an entry does not look who is in',
      'ENTRY_WHILE_OTHERS_ARE_IN',
      300,
      /^(overlap|null holds|unexpected)/m,
    ],
    ['a token does not rise', 'TOKEN_STAYS', 300, /^token that does not rise/m],
    ['a release hides a loss', 'RELEASE_HIDES_THE_LOSS', 1_000, /^loss that was not told/m],
  ])('is noticed to go wrong if %s', async (_, bug, sections, finding) => {
    const story = new Story(bug);
    const random = seededRandom(`contended/${bug}`);
    const trial = { workers, redis, referee, story, random, sections, withinMs: WITHIN_MS };
    const { findings } = await contend({ ...trial, bug, isStormy: true });
    expect(findings.join('\n')).toMatch(finding);
  });
});
