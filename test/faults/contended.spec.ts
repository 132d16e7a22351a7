import { describe, expect, it } from '@jest/globals';

import { seededRandom, useRealRedis, useWorkers } from '../support/set-up.js';
import { LONG_CONTEST } from './support/contest-plan.js';
import { contend } from './support/contest.js';
import { FAULTS } from './support/fault-schedule.js';
import { newStaff } from './support/fleet.js';
import { telling } from './support/history.js';

/** `npm run torture` has a million. In fewer, a kind of fault may be missing. */
const SECTIONS = 5_000;
/** Only a contest that stands still takes so long. A slow machine needs half of it beside other specs. */
const WITHIN_MS = 400_000;

describe('a lock that several processes want while everything goes wrong', () => {
  const redis = useRealRedis();
  const referee = useRealRedis();
  const workers = useWorkers();

  it(
    `is held by one at a time in ${String(SECTIONS)} sections`,
    async () => {
      await telling('contended', async (story) => {
        const random = seededRandom('contended');
        const trial = {
          plan: LONG_CONTEST,
          staff: newStaff(workers),
          redis,
          referee,
          story,
          withinMs: WITHIN_MS,
          random,
          sections: SECTIONS,
        };
        const { findings, sections, faults } = await contend(trial);
        expect(findings).toEqual([]);
        expect(sections).toBeGreaterThanOrEqual(SECTIONS);
        expect(Object.keys(faults).sort()).toEqual(Object.keys(FAULTS).sort());
      });
    },
    1.5 * WITHIN_MS,
  );
});
