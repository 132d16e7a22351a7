import type { Redis } from 'ioredis';

import { countKey } from './counters.js';
import type { Report } from './crowd.js';
import type { Story } from './history.js';

export type Totals = Omit<Report, 'history'>;

/** The reports of all crowds in one; their histories go into the story, if there is one. */
export function totalsOf(reports: readonly Report[], story?: Story): Totals {
  const totals: Totals = {
    sections: 0,
    increments: {},
    lost: 0,
    timeouts: 0,
    backendErrors: 0,
    violations: [],
  };
  for (const { history, ...report } of reports) {
    story?.keep(history);
    totals.sections += report.sections;
    totals.lost += report.lost;
    totals.timeouts += report.timeouts;
    totals.backendErrors += report.backendErrors;
    totals.violations.push(...report.violations);
    for (const [lock, count] of Object.entries(report.increments)) {
      totals.increments[lock] = (totals.increments[lock] ?? 0) + count;
    }
  }
  return totals;
}

/** Every unguarded counter that is not what the sections made of it. */
export async function judge(referee: Redis, { increments }: Totals): Promise<string[]> {
  const wrong: string[] = [];
  for (const [lock, count] of Object.entries(increments)) {
    const counter = Number(await referee.get(countKey(lock)));
    if (counter !== count) {
      wrong.push(`${lock}: ${String(count)} sections, but the counter says ${String(counter)}`);
    }
  }
  return wrong;
}
