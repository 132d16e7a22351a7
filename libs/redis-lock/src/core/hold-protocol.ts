import type { Reply } from './redis-connection.js';

/** `<client uuid>:<decimal number, never reused>`, as Redisson writes it. */
export type OwnerId = string;

export interface EnterRequest {
  /** How many leases the owner has once this one is granted. Never "one more". */
  readonly holdCount: number;
  readonly leaseTimeMs: number;
  readonly fenced: boolean;
}

export type EnterAnswer =
  | { readonly kind: 'granted'; readonly fencingToken: number | undefined }
  /** `Infinity` when the present lease never ends. */
  | { readonly kind: 'busy'; readonly remainingMs: number }
  /** The owner should hold the lock already, and does not. */
  | { readonly kind: 'lost' };

/** `unannounced`: freed, but the waiters could not be told. */
export type LeaveAnswer = 'done' | 'unannounced' | 'absent';

export interface Renewal {
  readonly key: string;
  readonly owner: OwnerId;
  readonly leaseTimeMs: number;
}

export interface Inspection {
  /** 0 when the lock is free, `Infinity` when the lease never ends. */
  readonly remainingMs: number;
  /** Undefined when the lock is free. */
  readonly owner: OwnerId | undefined;
}

/** What one kind of lock does in Redis. All of it may be executed twice without harm. */
export interface HoldProtocol {
  /** Tells kinds of locks apart; one protocol of a kind for each connection. */
  readonly kind: string;

  enter(key: string, owner: OwnerId, request: EnterRequest): Promise<Reply<EnterAnswer>>;
  /** Brings the owner down to this many leases; 0 frees the lock and wakes the waiters. */
  leave(key: string, owner: OwnerId, holdCount: number): Promise<Reply<LeaveAnswer>>;
  /** One script for keys of one slot; answers for each whether its owner still holds it. */
  renew(renewals: readonly Renewal[]): Promise<Reply<readonly boolean[]>>;
  inspect(key: string): Promise<Reply<Inspection>>;
  /** The channel on which a release of this key is announced. */
  wakeUpChannel(key: string): string;
}
