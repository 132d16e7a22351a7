import { performance } from 'node:perf_hooks';
import type { OrderRef } from '../../seckill/gate.js';
import type { Answer, Buyer } from '../buyer.js';
import type { PartPlan } from './part-plan.js';

/** Sends a request for a buyer. The answer and the events of the process become steps of the part. */
export async function askFor(
  { onAnswer }: Pick<PartPlan, 'onAnswer'>,
  visit: OrderRef,
  asking: Buyer,
  ...[method, path, body]: Parameters<Buyer['ask']>
): Promise<Answer> {
  const sentAt = performance.now();
  const answer = await asking.ask(method, path, body, visit);
  onAnswer(visit.buyer, answer, sentAt);
  return answer;
}
