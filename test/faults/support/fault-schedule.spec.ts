import { describe, expect, it } from '@jest/globals';

import { Random } from '../../support/random.js';
import { LONG_CONTEST } from './contest-plan.js';
import { FAULTS, faultSchedule } from './fault-schedule.js';

const DECK = Object.values(FAULTS).reduce((sum, { times }) => sum + times, 0);

/** The first faults of the schedule for a seed. */
function faultsOf(seed: number, count: number) {
  const schedule = faultSchedule(new Random(seed), FAULTS, LONG_CONTEST.pace);
  return Array.from({ length: count }, () => schedule.next().value);
}

describe('faultSchedule', () => {
  it('plans the same faults for the same seed, and others for another', () => {
    expect(faultsOf(7, 1_000)).toEqual(faultsOf(7, 1_000));
    expect(faultsOf(7, DECK)).not.toEqual(faultsOf(8, DECK));
  });

  it('plans every kind, each as often as it should be', () => {
    const faults = faultsOf(7, 3 * DECK);
    for (const [kind, { times }] of Object.entries(FAULTS)) {
      expect(faults.filter((fault) => fault.kind === kind)).toHaveLength(3 * times);
    }
  });
});
