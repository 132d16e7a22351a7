import { isLockTimeout } from '../database/open-database.js';

export type OrderOutcome = { readonly kind: 'sold'; readonly remaining: number } | Refusal;

export type Refusal =
  | { readonly kind: 'sold-out' }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'unknown-product' }
  /** The lock was lost before the write. */
  | { readonly kind: 'lease-lost' }
  /** The database has seen a newer holder. */
  | { readonly kind: 'stale-write'; readonly reason: string };

/** Rolls back a transaction that cannot take the order. */
export class OrderRefusedError extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.kind);
  }
}

/** A refusal is an outcome, even if it was thrown as an error. */
export async function withRefusals<T>(work: Promise<T>): Promise<T | Refusal> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof OrderRefusedError) return error.refusal;
    if (isLockTimeout(error)) return { kind: 'busy' };
    throw error;
  }
}
