import { Buyer } from '../buyer.js';
import type { Answer } from '../buyer.js';
import type { ReportResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const OK = 200;

/** The job is due in all processes at once. */
export async function report(
  plan: PartPlan,
  strategy: 'everywhere' | 'cron-lock',
): Promise<ReportResult> {
  const { fleet } = plan;
  const productId = plan.newProduct();
  const path = `/api/reports?strategy=${strategy}`;
  const clocks: Buyer[] = [];
  for (const { pid } of fleet.members) clocks.push(await Buyer.at(fleet.url, pid));
  const answers = await Promise.all(
    clocks.map((clock, index) =>
      askFor(plan, { productId, buyer: `clock-${index + 1}` }, clock, 'POST', path),
    ),
  );
  for (const clock of clocks) clock.leave();
  return judgeReports(answers, strategy === 'cron-lock');
}

export function judgeReports(answers: readonly Answer[], withLock: boolean): ReportResult {
  const answered = answers.filter(({ status }) => status === OK);
  const runs = answered.filter(({ body }) => (JSON.parse(body) as { ran: boolean }).ran).length;
  const isRight = runs === 1 && answered.length === answers.length;
  const outcome = runs > 1 ? 'repeats' : isRight ? 'ok' : 'error';
  return { part: 'report', withLock, outcome, processes: answers.length, runs };
}
