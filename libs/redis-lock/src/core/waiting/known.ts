import {
  LockArgumentError,
  LockBackendError,
  quoteName,
  type LockTimeoutError,
} from '../api/errors.js';
import type { Asker } from '../holding/asker.js';
import { notAnswered } from '../redis/retry.js';

/** The last answer for a key, as this process knows it; `none` if Redis does not answer. */
export type Known =
  { readonly kind: 'none' } | Busy | { readonly kind: 'failed'; readonly error: LockBackendError };

/** `until`: by the monotonic clock. */
export interface Busy {
  readonly kind: 'busy';
  readonly until: number;
  readonly blockedBy: 'other' | 'unset';
}

export const NONE: Known = { kind: 'none' };

/** Redis has answered that the permits are not set. */
export function isUnset(known: Known): boolean {
  return known.kind === 'busy' && known.blockedBy === 'unset';
}

/** The permits are not set, and the attempt of this asker sets them. */
export function isSetBy(known: Known, { capacity }: Pick<Asker, 'capacity'>): boolean {
  return isUnset(known) && capacity !== undefined;
}

/** Another owner holds it, or its permits are not set. */
export interface Refusal {
  readonly remainingMs: number;
  readonly blockedBy: LockTimeoutError['blockedBy'];
}

/** A wait that ends without a grant. */
interface Wait {
  readonly name: string;
  readonly waitedMs: number;
}

export function noAnswerError(
  { name, waitedMs }: Wait,
  outcome: LockBackendError['outcome'],
  cause?: LockBackendError,
): LockBackendError {
  const what = `Lock ${quoteName(name)} was not acquired`;
  return notAnswered(what, waitedMs, { lockName: name, outcome, cause });
}

/** The error of `noAnswerError` without a cause: Redis has neither answered nor failed. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof LockBackendError && error.retryable && error.cause === undefined;
}

/** Redis was slower than the lease is long. */
export function shortLeaseError(
  { name, leaseMs }: { readonly name: string; readonly leaseMs: number },
  answerMs: number,
): LockArgumentError {
  const [lease, answer] = [String(leaseMs), String(Math.ceil(answerMs))];
  const message =
    `Lock ${quoteName(name)} was not acquired: its lease of ${lease} ms ended before ` +
    `the answer came, after ${answer} ms; raise leaseTimeMs`;
  return new LockArgumentError(message, { lockName: name });
}

/** Why a call still waits, for its `waiting` event. */
export function reasonFor(known: Known): { error?: LockBackendError; blockedBy?: 'unset' } {
  if (known.kind === 'failed') return { error: known.error };
  if (known.kind === 'busy') return isUnset(known) ? { blockedBy: 'unset' } : {};
  const details = { retryable: true, outcome: 'unknown' } as const;
  return { error: new LockBackendError('Redis did not answer', details) };
}
