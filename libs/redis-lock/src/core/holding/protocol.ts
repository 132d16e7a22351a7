import type { LockBackendError } from '../api/errors.js';
import type { LockKind } from '../api/observer.js';
import type { AnyAcquireOptions, ResolvedAcquireOptions } from '../api/options.js';
import type { Reply } from '../redis/connection.js';

/**
 * `<client uuid>:<decimal number, never reused>`, as Redisson writes it. Permits are their own
 * owners.
 */
export type OwnerId = string;

/** An owner and its key: the part of a `Hold` that scripts need. */
export interface Owned {
  readonly key: string;
  readonly owner: OwnerId;
  /** The owner of an enclosing hold of another kind. This owner may hold the lock beside it. */
  readonly companion?: OwnerId | undefined;
  /** The number of grants in a row within its process before this one. */
  readonly batchCount?: number;
}

/** The terms of an acquisition. */
export type AcquireTerms = Pick<
  ResolvedAcquireOptions,
  'leaseTimeMs' | 'fenced' | 'waitTimeMs' | 'minReplicas' | 'capacity'
>;

/** The entry of a process in Redis' queue for a key. Each process has one. */
export interface Claim {
  /** For this time Redis considers the process to be waiting. */
  readonly aliveMs: number;
  /** A grant by this claim names it. It is secret, and the next claim has another. */
  readonly nonce: string;
  /** The lease of a grant by this claim, until its owner has renewed it to its own lease time. */
  readonly leaseTimeMs: number;
  readonly mode: GrantMode;
  /** The end (ms, by the server) of the window for which the process has stood back. */
  readonly past?: number;
  /** The number of sections that outsiders ended in it. */
  readonly ended?: number;
}

/** The lock is left to outsiders. The queue stands back for it. */
export interface OutsiderWindow {
  /** Its latest end (ms, by the server). No other window has the same. */
  readonly untilMs: number;
  /** It ends after so many sections of outsiders. */
  readonly sections: number;
}

/**
 * How a grant becomes effective.
 * - `start`: its owner holds the lock with the grant.
 * - `enter`: its owner runs `acquire` first, for a token or for replicas.
 * - `poll`: as `enter`, and no message reaches the owner.
 */
export type GrantMode = 'start' | 'enter' | 'poll';

/** The next waiter in the process of the releasing owner. */
export interface Successor {
  readonly owner: OwnerId;
  readonly leaseTimeMs: number;
  readonly mode: 'start' | 'enter';
  /** With a claim, another waiting process goes first, and the successor queues. */
  readonly claim: Claim | undefined;
}

export type AcquireAnswer =
  | {
      readonly kind: 'granted';
      readonly fencingToken: number | undefined;
      /** The answer holds for every waiter of the queue. */
      readonly isForAll?: true;
    }
  /** `Infinity` when the present hold has no lease. */
  | {
      readonly kind: 'busy';
      readonly remainingMs: number;
      /** It is a semaphore, and its permits are not set. */
      readonly isUnset?: true;
      /** Its entry in Redis' queue is new. */
      readonly isNew?: true;
      readonly window?: OutsiderWindow;
      /** An owner of the same process is ahead, and hands the lock over to it. */
      readonly isBehindOwn?: true;
      /**
       * Owners of the same process that are ahead of it in Redis' queue. While another owner holds
       * the lock, only the first of the queue.
       */
      readonly siblings?: readonly OwnerId[];
    }
  /** The owner should already hold the lock, and does not. */
  | { readonly kind: 'lost' };

/**
 * - `passed`: the successor holds it.
 * - `had`: the successor held it before this script, and this owner did not.
 * - `yielded`: another process is next, and the successor sends its own attempts.
 * - `reserved`: freed, and the successor stands back for outsiders.
 * - `unannounced`: freed or handed over, but no message was published.
 * - `absent`: this owner did not hold it.
 */
export type ReleaseAnswer =
  'done' | 'passed' | 'had' | 'yielded' | 'reserved' | 'unannounced' | 'absent';

export interface Renewal {
  readonly key: string;
  readonly owner: OwnerId;
  /** The lease time that the renewal requests. */
  readonly renewMs: number;
}

/** Whether the owner still holds it. An error if the script could not check this one. */
export type RenewalAnswer = boolean | LockBackendError;

/** An owner, and its number of leases. */
export interface Holder {
  readonly owner: OwnerId;
  /** 0: the owner was handed the lock, and has yet to acquire it. */
  readonly holdCount: number;
}

export interface Inspection {
  /** 0 when the lock is free, `Infinity` when it has no lease. */
  readonly remainingMs: number;
  /** Empty when the lock is free. */
  readonly holders: readonly Holder[];
}

/** The steps of one kind of lock. Each may be executed twice without harm. */
export interface HoldProtocol {
  /** Distinguishes kinds. Each connection has one protocol of a kind. */
  readonly kind: LockKind;
  /** The options of a call. */
  readonly options: readonly (keyof AnyAcquireOptions)[];
  /** How calls inside a hold of the same name join it: in turn, side by side, or not. */
  readonly nesting: 'in turn' | 'together' | 'none';
  /**
   * Which callers of one process send attempts to Redis.
   * - `in turn`: only the first.
   * - `together`: all.
   * - `each`: each queues in Redis with its own entry. After that, only the first sends attempts.
   */
  readonly waiting: 'in turn' | 'together' | 'each';
  /** A grant does not keep others out: several owners may hold it at the same time. */
  readonly isShared: boolean;
  /** It is shared, and a grant of another kind on the same key excludes all of its holds. */
  readonly isReadSide?: boolean;
  /** A refused owner has an entry in Redis until `cancel`. */
  readonly remembersWaiters: boolean;
  /** Redis may keep a hold beyond its lease, because others prolong the same key. */
  readonly outlastsLease?: boolean;

  /** An owner that is none of the session's. */
  newOwner?(options: ResolvedAcquireOptions): OwnerId;
  /**
   * The owner of an enclosing hold of another kind. This owner may hold the lock beside it.
   * @throws {LockStateError} the enclosing hold would never admit the call
   */
  companion?(key: string, name: string): OwnerId | undefined;

  /**
   * Brings the owner up to this many leases, never "one more".
   * @param claim queues an owner that is refused; for a count of 1 only
   */
  acquire(
    hold: Owned,
    terms: AcquireTerms,
    holdCount: number,
    claim?: Claim,
  ): Promise<Reply<AcquireAnswer>>;
  /**
   * Brings the owner down to this many leases. At 0 it frees the lock and notifies the waiters, or
   * hands it over in the same step.
   * @param successor the next waiter in this process; only for protocols with a `grantChannel`
   * @param keepMs above 0 the lock is not freed, and expires after this time
   */
  release(
    hold: Owned,
    holdCount: number,
    successor?: Successor,
    keepMs?: number,
  ): Promise<Reply<ReleaseAnswer>>;
  /** Releases the grant of a waiter that has left, and deletes its entry in the queue. */
  cancel(hold: Owned, terms: AcquireTerms): Promise<Reply<unknown>>;
  /** Deletes the entries of owners that no longer wait. Releases nothing. */
  cancelStrays?(key: string, owners: readonly OwnerId[]): Promise<Reply<unknown>>;
  /** Redis has lost it while its lease ran: counts again what no owner can release. Never rejects. */
  restore?(hold: Owned, capacity: number): Promise<unknown>;
  /** One script for keys of one slot. It answers for each whether its owner still holds it. */
  renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly RenewalAnswer[]>>;
  /** A release counts the outsiders among the listeners for wake-ups. */
  readonly countsOutsiders?: boolean;
  /** The channel of the wake-ups for this owner. */
  wakeUpChannel(key: string, owner: OwnerId): string;
  /**
   * The channel of grants to this process, or to this owner if each has a channel. Without it, the
   * lock is not handed over.
   */
  grantChannel?(key: string, owner: OwnerId): string;
}

/** A lock that can be inspected. */
export interface LockProtocol extends HoldProtocol {
  inspect(key: string): Promise<Reply<Inspection>>;
}
