import { describe, expect, it } from '@jest/globals';

import { useWorkers } from '../support/child.js';
import { seededRandom } from '../support/random.js';
import { useRealRedis } from '../support/redis-server.js';
import { LONG_CONTEST } from './support/contest-plan.js';
import { contend, type Outcome } from './support/contest.js';
import { newStaff } from './support/fleet.js';
import { telling } from './support/history.js';

const SECTIONS = Number(process.env.SECTIONS ?? 1_000_000);
/** Each is looked through before the next one begins. */
const ROUND = 25_000;

describe(`${String(SECTIONS)} sections of a contended lock`, () => {
  const redis = useRealRedis();
  const referee = useRealRedis();
  const workers = useWorkers();

  it('are held by one at a time while everything goes wrong', async () => {
    const random = seededRandom('torture');
    const total: Outcome = {
      ...{ sections: 0, tookMs: 0, longestWaitMs: 0 },
      ...{ failures: {}, faults: {}, findings: [] },
    };
    for (let round = 1; total.sections < SECTIONS; round++) {
      const title = `torture, round ${String(round)}`;
      await telling(title, async (story) => {
        const sections = Math.min(ROUND, SECTIONS - total.sections);
        const trial = {
          plan: LONG_CONTEST,
          staff: newStaff(workers),
          redis,
          referee,
          story,
          withinMs: 30 * 60_000,
          random: random.fork(round),
          sections,
        };
        const outcome = await contend(trial);
        add(total, outcome);
        say(`${title}: ${summaryOf(outcome)}; ${String(total.sections)} so far`);
        expect(outcome.findings).toEqual([]);
      });
    }
    say(`all rounds: ${summaryOf(total)}`);
    for (const what of ['faults', 'failures'] as const) {
      say(`${what}: ${listOf(total[what])}`);
    }
    say(
      'nothing found: no overlaps, no lost updates, no wrong hold counts, tokens that rise, losses ' +
        'that are told, no waits for a free lock, and nothing left in Redis',
    );
  });
});

function add(total: Outcome, { sections, tookMs, longestWaitMs, ...counts }: Outcome): void {
  total.sections += sections;
  total.tookMs += tookMs;
  total.longestWaitMs = Math.max(total.longestWaitMs, longestWaitMs);
  for (const what of ['faults', 'failures'] as const) {
    for (const [name, count] of Object.entries(counts[what])) {
      total[what][name] = (total[what][name] ?? 0) + count;
    }
  }
}

function summaryOf({ sections, tookMs, longestWaitMs, faults, failures }: Outcome): string {
  const faultCount = Object.values(faults).reduce((sum, count) => sum + count, 0);
  return [
    `${String(sections)} sections, ${String(Math.round((1_000 * sections) / tookMs))} a second`,
    `${String(faultCount)} faults`,
    `longest wait ${String(Math.round(longestWaitMs))} ms`,
    `${String(failures.LEASE_LOST ?? 0)} leases lost`,
  ].join(', ');
}

function listOf(counts: Record<string, number>): string {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${String(count)}`).join(', ');
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
