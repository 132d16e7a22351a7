import type { LockBackendError } from '../api/errors.js';
import type { AcquireOptions } from '../api/lock.js';
import type { LockedKind } from '../api/observer.js';
import type { ResolvedAcquireOptions } from '../api/options.js';
import type { Reply } from '../redis/connection.js';

/** `<client uuid>:<decimal number, never reused>`, as Redisson writes it; permits are their own owners. */
export type OwnerId = string;

/** An owner and its key: a `Hold`, as the scripts are told of it. */
export interface Owned {
  readonly key: string;
  readonly owner: OwnerId;
  /** The owner of an enclosing hold of another kind that lets this one in. */
  readonly companion?: OwnerId | undefined;
}

/** The terms of an acquisition. */
export type AcquireTerms = Pick<
  ResolvedAcquireOptions,
  'leaseTimeMs' | 'fenced' | 'waitTimeMs' | 'minReplicas'
>;

/** The entry of a process in Redis' queue of those that wait for a key, one for each process. */
export interface Claim {
  /** How long Redis believes that the process still waits. */
  readonly aliveMs: number;
  /** A grant by this claim names it: nobody else knows it, and the next claim has another. */
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
  /** How many callers wait in its process. */
  readonly callers: number;
  /** With a claim another process goes first, if one waits, and the successor queues. */
  readonly claim: Claim | undefined;
}

/** Grants in a row within one process. */
export interface Batch {
  readonly count: number;
  /** When the first of them was granted, in whole ms by the local clock. */
  readonly since: number;
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
      /** It has an entry in the queue that it had not before. */
      readonly isNew?: true;
      /** The queue leaves the lock to outsiders, and need not ask for this time. */
      readonly standBackMs?: number;
      /** Before it comes a waiter of the same process, which hands the lock over to it. */
      readonly isBehindOwn?: true;
      /** The first owner of the queue, if it is another one of the same process. */
      readonly sibling?: OwnerId;
    }
  /** The owner should hold the lock already, and does not. */
  | { readonly kind: 'lost' };

/**
 * `passed`: the successor holds it. `had`: the successor held it already, when this owner did no more.
 * `yielded`: others go first, and the successor has to ask by itself. `opened`: freed for outsiders, before
 * whom the successor stands back. `unannounced`: freed, but the waiters could not be told. `absent`: this
 * owner did not hold it.
 */
export type ReleaseAnswer =
  'done' | 'passed' | 'had' | 'yielded' | 'opened' | 'unannounced' | 'absent';

export interface Renewal {
  readonly key: string;
  readonly owner: OwnerId;
  /** The lease that the renewal asks for. */
  readonly renewMs: number;
}

/** Whether the owner still holds it; an error when that is not known of this one, but of others. */
export type RenewalAnswer = boolean | LockBackendError;

export interface Inspection {
  /** 0 when the lock is free, `Infinity` when the lease never ends. */
  readonly remainingMs: number;
  /** Empty when the lock is free. */
  readonly owners: readonly OwnerId[];
}

/** How a kind of lock is held in Redis. All of it may be executed twice without harm. */
export interface HoldProtocol {
  /** Tells kinds apart; one protocol of a kind for each connection. */
  readonly kind: LockedKind;
  /** The options of a call. */
  readonly options: readonly (keyof AcquireOptions | 'permits')[];
  /** Calls inside a hold of the same name join it: one after the other, side by side, or not at all. */
  readonly nesting: 'in turn' | 'together' | 'none';
  /**
   * Among the callers of one process only the first asks Redis, or all do; or each asks for an entry
   * of its own in a queue in Redis, and after that only the first.
   */
  readonly waiting: 'in turn' | 'together' | 'each';
  /** One grant says nothing about the next: others may hold it at the same time. */
  readonly isShared: boolean;
  /** Redis remembers an owner that was refused, until `cancel`. */
  readonly remembersWaiters: boolean;
  /** Redis may keep a hold beyond its lease, since others prolong the same key: until it is released. */
  readonly outlastsLease?: boolean;

  /** Another owner than one of the session's. */
  newOwner?(options: ResolvedAcquireOptions): OwnerId;
  /**
   * Looks at the scopes around a call: answers the owner of an enclosing hold that lets this one in.
   * @throws {LockStateError} what surrounds the call would never let it in
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
  /** Makes Redis forget a waiter that has left: what it was granted, and that it waited. */
  cancel(hold: Owned, terms: AcquireTerms): Promise<Reply<unknown>>;
  /** One script for keys of one slot; answers for each whether its owner still holds it. */
  renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly RenewalAnswer[]>>;
  /** A release counts the listeners for wake-ups that are no process of ours. */
  readonly countsOutsiders?: boolean;
  /** The channel on which this owner hears that it should try again. */
  wakeUpChannel(key: string, owner: OwnerId): string;
  /**
   * The channel on which this process, or only this owner where all wait together, hears of grants;
   * without one, the lock is not handed over.
   */
  grantChannel?(key: string, owner: OwnerId): string;
}

/** A lock that can be inspected. */
export interface LockProtocol extends HoldProtocol {
  inspect(key: string): Promise<Reply<Inspection>>;
}
