import { ATTEMPTS } from '../../ticket/ticket.service.js';
import { Buyer } from '../buyer.js';
import type { Answer } from '../buyer.js';
import type { TicketResult } from './part.js';
import type { PartPlan } from './part-plan.js';
import { askFor } from './visit.js';

const OK = 201;
const TOO_MANY = 429;

/** One visitor tries at every process in turn, once more each time than the limit allows. */
export async function ticket(
  plan: PartPlan,
  strategy: 'per-process' | 'shared',
): Promise<TicketResult> {
  const { fleet } = plan;
  const productId = plan.newProduct();
  const visitor = `visitor-${productId}`;
  const path = `/api/tickets?strategy=${strategy}`;
  const answers: Answer[] = [];
  for (const { pid } of fleet.members) {
    const buyer = await Buyer.at(fleet.url, pid);
    for (let attempt = 0; attempt <= ATTEMPTS; attempt += 1) {
      answers.push(
        await askFor(plan, { productId, buyer: visitor }, buyer, 'POST', path, { visitor }),
      );
    }
    buyer.leave();
  }
  return judgeTickets(answers, strategy === 'shared');
}

export function judgeTickets(answers: readonly Answer[], withLock: boolean): TicketResult {
  const letIn = answers.filter(({ status }) => status === OK).length;
  const sentAway = answers.filter(({ status }) => status === TOO_MANY).length;
  const isRight = letIn === ATTEMPTS && letIn + sentAway === answers.length;
  const outcome = letIn > ATTEMPTS ? 'leaks' : isRight ? 'ok' : 'error';
  return { part: 'ticket', withLock, outcome, limit: ATTEMPTS, letIn, sentAway };
}
