import type { ProductState } from '../seckill/sale-ledger.js';
import type { Answer } from './buyer.js';
import type { FaultOutcome } from './fault.js';
import { isBusy, isSold, isSoldOut, ledgerDifference } from './load-result.js';

export interface Evidence {
  readonly stock: number;
  /** The holder's answer; undefined if it was killed. */
  readonly first?: Answer;
  readonly next: Answer;
  readonly state: ProductState;
  /** The lock disappeared while the next holder was still inside. */
  readonly foreignDelete?: boolean;
}

/** The worst proven fault comes first. `ok` requires a buyer that was served correctly. */
export function judge({ stock, first, next, state, foreignDelete }: Evidence): FaultOutcome {
  if (foreignDelete === true) return 'foreign-delete';
  if (state.orders > stock) return 'oversold';
  if (ledgerDifference(state) !== 0) return 'stale-write';
  if (first === undefined) {
    if (isBusy(next)) return 'stuck';
    if (isSoldOut(next) && state.orders < stock) return 'lost-piece';
    return isSold(next) ? 'ok' : 'error';
  }
  if (wasRefused(first)) return isSold(next) ? 'refused' : 'error';
  return isSold(first) && (isSold(next) || isTurnedAway(next)) ? 'ok' : 'error';
}

/** By the check before the write, or by the database. */
function wasRefused({ status, body }: Answer): boolean {
  return status === 500 && /LEASE_LOST|STALE_WRITE/.test(body);
}

function isTurnedAway(answer: Answer): boolean {
  return isBusy(answer) || isSoldOut(answer);
}
