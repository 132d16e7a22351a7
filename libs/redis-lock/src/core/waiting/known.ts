import type { LockBackendError } from '../api/errors.js';

/** The last answer for a key, as this process knows it; `none` if Redis does not answer. */
export type Known =
  | { readonly kind: 'none' }
  /** By the monotonic clock. */
  | { readonly kind: 'busy'; readonly until: number }
  | { readonly kind: 'failed'; readonly error: LockBackendError };

export const NONE: Known = { kind: 'none' };
