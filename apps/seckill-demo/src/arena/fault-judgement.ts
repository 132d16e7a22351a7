import type { ProductState } from '../seckill/sale-ledger.js';
import type { Answer } from './buyer.js';
import type { FaultOutcome } from './fault.js';
import { isBusy, isSold, ledgerDifference } from './load-result.js';

export interface Evidence {
  readonly stock: number;
  /** The holder's answer; undefined when it was killed. */
  readonly first?: Answer;
  readonly next: Answer;
  readonly state: ProductState;
  /** The lock was gone while the next one was still inside. */
  readonly foreignDelete?: boolean;
}

/** The worst proved fault comes first; `ok` needs a buyer that was served rightly. */
export function judge({ stock, first, next, state, foreignDelete }: Evidence): FaultOutcome {
  if (foreignDelete === true) return 'foreign-delete';
  if (state.orders > stock) return 'oversold';
  if (ledgerDifference(state) !== 0) return 'stale-write';
  if (first === undefined) {
    if (isBusy(next)) return 'stuck';
    return isSold(next) ? 'ok' : 'error';
  }
  if (lostItsLease(first)) return isSold(next) ? 'refused' : 'error';
  return isSold(first) && (isSold(next) || isTurnedAway(next)) ? 'ok' : 'error';
}

function lostItsLease({ status, body }: Answer): boolean {
  return status === 500 && body.includes('LEASE_LOST');
}

function isTurnedAway(answer: Answer): boolean {
  return isBusy(answer) || answer.status === 410;
}
