import type { LockBackendError } from '../api/errors.js';
import type { LockKind } from '../api/observer.js';
import type { AnyAcquireOptions, ResolvedAcquireOptions } from '../api/options.js';
import type { Reply } from '../redis/connection.js';

/** `<client uuid>:<decimal number, never reused>`, as Redisson writes it; permits are their own owners. */
export type OwnerId = string;

/** An owner and its key: the part of a `Hold` that scripts need. */
export interface Owned {
  readonly key: string;
  readonly owner: OwnerId;
  /** The owner of an enclosing hold of another kind, beside which this one may hold the lock. */
  readonly companion?: OwnerId | undefined;
}

/** The terms of an acquisition. */
export type AcquireTerms = Pick<
  ResolvedAcquireOptions,
  'leaseTimeMs' | 'fenced' | 'waitTimeMs' | 'minReplicas' | 'capacity'
>;

/** The entry of a process in Redis' queue of those that wait for a key, one for each process. */
export interface Claim {
  /** Redis takes the process for waiting for this time. */
  readonly aliveMs: number;
  /** A grant by this claim names it: it is secret, and the next claim has another. */
  readonly nonce: string;
  /** The lease of a grant by this claim, until its owner has renewed it to a lease of its own. */
  readonly leaseTimeMs: number;
  readonly mode: GrantMode;
}

/**
 * How a grant becomes effective. `start`: its owner holds the lock with the grant. `enter`: its owner runs
 * `acquire` first, for a token or for replicas. `poll`: the same, and no message reaches it.
 */
export type GrantMode = 'start' | 'enter' | 'poll';

/** The next waiter in the process of the owner that releases. */
export interface Successor {
  readonly owner: OwnerId;
  readonly leaseTimeMs: number;
  readonly mode: 'start' | 'enter';
  readonly waitedMs: number;
  /** The number of callers that wait in its process. */
  readonly callers: number;
  /** With a claim another process goes first, if one waits, and the successor queues. */
  readonly claim: Claim | undefined;
}

export type AcquireAnswer =
  | {
      readonly kind: 'granted';
      readonly fencingToken: number | undefined;
      /** The answer holds for every waiter of the queue. */
      readonly isForAll?: true;
    }
  /** `Infinity` when the present lease never ends. */
  | {
      readonly kind: 'busy';
      readonly remainingMs: number;
      /** It is a semaphore, and nobody has set its permits. */
      readonly isUnset?: true;
      /** Its entry in Redis' queue is new. */
      readonly isNew?: true;
      /** The lock is left to outsiders: the queue need not ask for this time. */
      readonly standBackMs?: number;
      /** Ahead of it is an owner of the same process, which hands the lock over to it. */
      readonly isBehindOwn?: true;
      /** The first owner of Redis' queue, if it is another one of the same process. */
      readonly sibling?: OwnerId;
    }
  /** The owner should hold the lock already, and does not. */
  | { readonly kind: 'lost' };

/**
 * `passed`: the successor holds it. `had`: the successor held it before this script, and this owner did
 * not. `yielded`: another process is next, and the successor asks by itself. `opened`: freed, and the
 * successor stands back for outsiders. `unannounced`: freed or handed over, but no message was published.
 * `absent`: this owner did not hold it.
 */
export type ReleaseAnswer =
  'done' | 'passed' | 'had' | 'yielded' | 'opened' | 'unannounced' | 'absent';

export interface Renewal {
  readonly key: string;
  readonly owner: OwnerId;
  /** The lease that the renewal asks for. */
  readonly renewMs: number;
}

/** Whether the owner still holds it; an error if the script could not find out for this one. */
export type RenewalAnswer = boolean | LockBackendError;

/** An owner, and how often it holds the lock. */
export interface Holder {
  readonly owner: OwnerId;
  /** 0 was handed the lock, and has yet to acquire it. */
  readonly holdCount: number;
}

export interface Inspection {
  /** 0 when the lock is free, `Infinity` when the lease never ends. */
  readonly remainingMs: number;
  /** Empty when the lock is free. */
  readonly holders: readonly Holder[];
}

/** The steps of one kind of lock. Each may be executed twice without harm. */
export interface HoldProtocol {
  /** Tells kinds apart; one protocol of a kind for each connection. */
  readonly kind: LockKind;
  /** The options of a call. */
  readonly options: readonly (keyof AnyAcquireOptions)[];
  /** Calls inside a hold of the same name join it: one after the other, side by side, or not at all. */
  readonly nesting: 'in turn' | 'together' | 'none';
  /**
   * Among the callers of one process only the first asks Redis, or all do; or each asks for an entry
   * of its own in a queue in Redis, and after that only the first.
   */
  readonly waiting: 'in turn' | 'together' | 'each';
  /** A grant does not keep others out: several owners may hold it at the same time. */
  readonly isShared: boolean;
  /** A refused owner has an entry in Redis until `cancel`. */
  readonly remembersWaiters: boolean;
  /** Redis may keep a hold beyond its lease, since others prolong the same key. */
  readonly outlastsLease?: boolean;

  /** Another owner than one of the session's. */
  newOwner?(options: ResolvedAcquireOptions): OwnerId;
  /**
   * The owner of an enclosing hold of another kind, beside which this one may hold the lock.
   * @throws {LockStateError} the enclosing hold would never let the call in
   */
  companion?(key: string, name: string): OwnerId | undefined;

  /**
   * Brings the owner up to this many leases, never "one more".
   * @param claim with it an owner that is refused queues; for a count of 1 only
   */
  acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>>;
  /**
   * Brings the owner down to this many leases; 0 frees the lock and wakes the waiters, or gives it to
   * the next of them in the same step.
   * @param successor the next waiter in this process; only for protocols with a `grantChannel`
   * @param keepMs above 0 the lock is not freed, and ends after this time by itself
   */
  release(
    hold: Owned,
    holdCount: number,
    successor?: Successor,
    keepMs?: number,
  ): Promise<Reply<ReleaseAnswer>>;
  /** Releases what a waiter that has left was granted, and deletes its entry in the queue. */
  cancel(hold: Owned, terms: AcquireTerms): Promise<Reply<unknown>>;
  /** One script for keys of one slot; answers for each whether its owner still holds it. */
  renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly RenewalAnswer[]>>;
  /** A release counts the outsiders among the listeners for wake-ups. */
  readonly countsOutsiders?: boolean;
  /** The channel of the wake-ups for this owner. */
  wakeUpChannel(key: string, owner: OwnerId): string;
  /**
   * The channel of grants to this process, or to this owner where each has a channel; without one, the
   * lock is not handed over.
   */
  grantChannel?(key: string, owner: OwnerId): string;
}

/** A lock that can be inspected. */
export interface LockProtocol extends HoldProtocol {
  inspect(key: string): Promise<Reply<Inspection>>;
}
