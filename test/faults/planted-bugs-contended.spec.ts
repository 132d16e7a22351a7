import { describe, expect, it } from '@jest/globals';

import { seededRandom, useRealRedis } from '../support/set-up.js';
import type { PlantedBug } from '../support/workers/crowd.worker.js';
import { contend, type Contest } from './support/contest.js';
import { useCrew } from './support/crew.js';
import { Story, telling } from './support/history.js';
import { SHORT_CONTESTS } from './support/short-contests.js';

const WITHIN_MS = 30_000;
/** With a bug it is played until that is noticed, so often at most. */
const MOST_TIMES = 20;

const OVERLAP = /^overlap/m;
const UNTOLD = /^(overlap|loss that was not told)/m;
const HOLDS = /^\w+ holds of \w+ in Redis instead of/m;
const LATE = /^(overlap|\w+ holds of \w+ in Redis instead of)/m;
const RESTLESS = /scripts for locks that no owner holds/m;
const IDLE = /^(no caller got in|it was free) for \d+ ms of waiting/m;

type Planted = [what: string, bug: PlantedBug, finding: RegExp];
interface Case {
  readonly what: string;
  readonly contest: keyof typeof SHORT_CONTESTS;
  readonly sections: number;
  readonly planted: readonly Planted[];
}

/** A bug for each finding. The simulation has many more bugs. */
const CASES: readonly Case[] = [
  {
    what: 'while what was sent is sent again',
    contest: 'CUTS',
    sections: 100,
    planted: [
      ['an entry adds one', 'ENTRY_COUNTS_UP', HOLDS],
      ['a token does not rise', 'TOKEN_STAYS', /^token that does not rise/m],
    ],
  },
  {
    what: 'while it is taken away',
    contest: 'TAKINGS',
    sections: 80,
    planted: [
      ['a release hides a loss', 'RELEASE_HIDES_THE_LOSS', UNTOLD],
      ['a renewal does not look at the owner', 'RENEWAL_OF_ANY_OWNER', OVERLAP],
    ],
  },
  {
    what: 'in which some stay, while clocks are set back',
    contest: 'STAYS',
    sections: 30,
    planted: [
      ['the watchdog goes on', 'RESTLESS_WATCHDOG', RESTLESS],
      ['deadlines go by the wall clock', 'DEADLINES_BY_WALL_CLOCK', OVERLAP],
    ],
  },
  {
    what: 'of which some hear when it is over',
    contest: 'LATE',
    sections: 150,
    planted: [['a lease begins with the answer', 'DEADLINE_FROM_THE_ANSWER', LATE]],
  },
  {
    what: 'while only messages wake waiters up',
    contest: 'MESSAGES',
    sections: 24,
    planted: [['no waiter tries again after a reconnect', 'NO_RETRY_AFTER_RECONNECT', IDLE]],
  },
  {
    what: 'while leases are longer than any caller waits',
    contest: 'LEASES',
    sections: 150,
    planted: [
      ['no waiter polls', 'NO_POLL', IDLE],
      ['the dead are granted it', 'DEAD_ARE_GRANTED', IDLE],
    ],
  },
];

const redis = useRealRedis();
const referee = useRealRedis();
const staff = useCrew();

describe.each(CASES)('a contended lock, $what,', ({ contest, sections, planted }) => {
  const run = (story: Story, time: number, more: Pick<Contest, 'bug' | 'isFound'> = {}) => {
    const random = seededRandom(`contended/${contest}`).fork(time);
    const servers = { redis, referee, staff, story };
    const plan = SHORT_CONTESTS[contest];
    return contend({ ...servers, plan, random, sections, withinMs: WITHIN_MS, ...more });
  };

  it('goes well with the library as it is', async () => {
    await telling(`contended, ${contest}`, async (story) => {
      const outcome = await run(story, 0);
      expect(outcome.findings).toEqual([]);
      expect(outcome.sections).toBeGreaterThanOrEqual(sections);
    });
  });

  it.each(planted)('is noticed to go wrong if %s', async (_, bug, finding) => {
    const isFound = (findings: readonly string[]) => finding.test(findings.join('\n'));
    let findings: string[] = [];
    for (let time = 0; time < MOST_TIMES && !isFound(findings); time++) {
      ({ findings } = await run(new Story(bug), time, { bug, isFound }));
    }
    expect(findings.join('\n')).toMatch(finding);
  });
});
