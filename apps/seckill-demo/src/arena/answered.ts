import { performance } from 'node:perf_hooks';
import { contentOf } from './buyer.js';
import type { Answer } from './buyer.js';
import type { OrderAnswered } from './step.js';

/** An answer to a buyer, as a step. */
export function answered(
  cell: string,
  buyer: string,
  reply: Answer,
  sentAt: number,
): OrderAnswered {
  const { status, servedBy, at } = reply;
  const { remaining, code, message, ran } = contentOf(reply);
  // The message of a stale write names the two tokens.
  const said = typeof message === 'string' ? message : undefined;
  const reason = code === 'STALE_WRITE' ? said : (code ?? said);
  const answer = ran === false ? 'duplicate' : kindOf(status);
  return {
    kind: 'answered',
    cell,
    buyer,
    process: servedBy,
    answer,
    ...(remaining !== undefined && { remaining }),
    ...(answer === 'refused' && reason !== undefined && { reason }),
    tookMs: Math.round((at - sentAt) * 10) / 10,
  };
}

/** The time of the answer, by the clock that all processes share. */
export function epochOf({ at }: Answer): number {
  return performance.timeOrigin + at;
}

function kindOf(status: number): OrderAnswered['answer'] {
  switch (status) {
    case 0:
      return 'cut';
    case 200:
    case 201:
    case 202:
      return 'sold';
    case 409:
      return 'duplicate';
    case 410:
      return 'sold-out';
    case 423:
      return 'busy';
    default:
      return 'refused';
  }
}
