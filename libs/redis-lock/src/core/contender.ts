import type { LockBackendError } from './errors.js';
import type { EnterAnswer } from './hold-protocol.js';
import type { Reply } from './redis-connection.js';

/** How an attempt ended: granted, or somebody else has the lock and the caller has no time to wait. */
export type Outcome =
  | { readonly kind: 'granted'; readonly reply: Reply<EnterAnswer & { kind: 'granted' }> }
  | { readonly kind: 'busy'; readonly remainingMs: number };

/** One local caller that wants a key. */
export interface Contender {
  readonly name: string;
  readonly leaseTimeMs: number;
  /** Content with one answer of Redis, whatever it is. */
  readonly once: boolean;
  /** An attempt may have been executed although it failed. */
  readonly isUncertain: boolean;
  /** Sends its attempt; always for the same owner, so that a repeated one is the same one. */
  ask(): Promise<Reply<EnterAnswer>>;
  settle(outcome: Outcome): void;
  fail(error: Error): void;
  /** Called now and then while the caller waits. */
  stillWaiting(last: LastAnswer): void;
  /** An attempt went through, or may have, although the caller had left meanwhile. */
  tooLate(): Promise<void>;
}

/** What is known of a key from the last attempt of this process; `none` if Redis does not answer. */
export type LastAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'busy'; readonly remainingMs: number }
  | { readonly kind: 'failed'; readonly error: LockBackendError };

/** What a caller takes along when it leaves. */
export interface Departure {
  readonly last: LastAnswer;
  /** Its attempt is on its way; `tooLate` will be called if it turns out to have been granted. */
  readonly isAsking: boolean;
}
