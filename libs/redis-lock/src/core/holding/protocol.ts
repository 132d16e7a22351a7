import type { LockBackendError } from '../api/errors.js';
import type { AcquireOptions } from '../api/lock.js';
import type { LockedKind } from '../api/observer.js';
import type { ResolvedAcquireOptions } from '../api/options.js';
import type { Reply } from '../redis/connection.js';

/** `<client uuid>:<decimal number, never reused>`, as Redisson writes it; permits are their own owners. */
export type OwnerId = string;

export interface AcquireRequest {
  /** How many leases the owner has once this one is granted. Never "one more". */
  readonly holdCount: number;
  readonly leaseTimeMs: number;
  readonly fenced: boolean;
  /** What the caller was ready to wait in all; 0 is one attempt, which leaves nothing behind. */
  readonly waitTimeMs: number;
  /** The owner of a surrounding hold that lets this one in. */
  readonly companion: OwnerId | undefined;
  readonly minReplicas: number;
}

/** How a process stands in the line of those that wait for a key, one place for each. */
export interface Claim {
  /** How long it is believed that the process still waits. */
  readonly aliveMs: number;
  /** What a grant by this claim is told with: nobody else knows it, and the next claim has another. */
  readonly nonce: string;
  /** What a grant by it is worth, until its owner has made it a lease of its own. */
  readonly leaseTimeMs: number;
  /**
   * `starts`: its owner begins with the grant. `enters`: it enters by itself first, for a token or for
   * replicas. `polls`: so too, and no message reaches it.
   */
  readonly manner: 'starts' | 'enters' | 'polls';
}

/** Who is next in the process of the owner that leaves. */
export interface Successor {
  readonly owner: OwnerId;
  readonly leaseTimeMs: number;
  /** Whether it begins with the grant, or enters by itself first. */
  readonly starts: boolean;
  /** For how long it has waited. */
  readonly waitedMs: number;
  /** How many wait in its process. */
  readonly callers: number;
  /** With it another process goes first, if one waits, and the heir stands in line. */
  readonly claim: Claim | undefined;
}

export interface Handed {
  /** How often the lock was handed on within this process, one after the other. */
  readonly passes: number;
  /** When the first of them got it, in whole ms by the local clock. */
  readonly since: number;
  /** What it is worth, if less than was asked for. */
  readonly leaseTimeMs?: number;
}

export type AcquireAnswer =
  | {
      readonly kind: 'granted';
      readonly fencingToken: number | undefined;
      /** It holds for all who stand in the same line. */
      readonly isForAll?: true;
      /** By whoever had it before, and so not by a script of the new owner. */
      readonly handed?: Handed;
    }
  /** `Infinity` when the present lease never ends. */
  | {
      readonly kind: 'busy';
      readonly remainingMs: number;
      /** It has a place in the queue that it had not before. */
      readonly isNew?: true;
      /** Those who stand in line leave it to others, and need not ask for so long. */
      readonly standBackMs?: number;
      /** Before it comes one of the same process, which hands it on. */
      readonly isBehindOwn?: true;
      /** The first owner of the queue, if it is another one of the same process. */
      readonly sibling?: OwnerId;
    }
  /** The owner should hold the lock already, and does not. */
  | { readonly kind: 'lost' };

/**
 * `passed`: the heir has it. `had`: it had it already, when this owner had it no more. `yielded`: others
 * go first, behind whom the heir has to ask by itself. `opened`: freed for those who are in no line,
 * before whom the heir stands back. `unannounced`: freed, but the waiters could not be told.
 */
export type ReleaseAnswer =
  'done' | 'passed' | 'had' | 'yielded' | 'opened' | 'unannounced' | 'absent';

export interface Renewal {
  readonly key: string;
  readonly owner: OwnerId;
  readonly leaseTimeMs: number;
}

/** Whether the owner still holds it; an error when that is not known of this one, but of others. */
export type RenewalAnswer = boolean | LockBackendError;

export interface Inspection {
  /** 0 when the lock is free, `Infinity` when the lease never ends. */
  readonly remainingMs: number;
  /** Empty when the lock is free. */
  readonly owners: readonly OwnerId[];
}

/** What can be held, and how it is held in Redis. All of it may be executed twice without harm. */
export interface HoldProtocol {
  /** Tells kinds apart; one protocol of a kind for each connection. */
  readonly kind: LockedKind;
  /** What a call may ask for. */
  readonly options: readonly (keyof AcquireOptions | 'permits')[];
  /** Calls inside a hold of the same name join it: one after the other, side by side, or not at all. */
  readonly nesting: 'in turn' | 'together' | 'none';
  /**
   * Among the callers of one process only the first asks Redis, or all do; or each asks for a place
   * of its own in a queue in Redis, and after that only the first.
   */
  readonly waiting: 'in turn' | 'together' | 'each';
  /** One grant says nothing about the next: others may hold it at the same time. */
  readonly isShared: boolean;
  /** Redis remembers who was refused, until `withdraw`. */
  readonly remembersWaiters: boolean;
  /** Redis may keep a hold beyond its lease, since others prolong the same key: until it is left. */
  readonly outlastsLease?: boolean;

  /** Another owner than one of the context's. */
  newOwner?(options: ResolvedAcquireOptions): OwnerId;
  /**
   * Looks at the scopes around a call: answers the owner of a hold that lets this one in.
   * @throws {LockStateError} what surrounds the call would never let it in
   */
  companion?(key: string, name: string): OwnerId | undefined;

  acquire(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<AcquireAnswer>>;
  /** As `enter` with a count of 1; whoever is refused stands in line from then on. */
  acquireOrQueue?(
    key: string,
    owner: OwnerId,
    request: AcquireRequest,
    claim: Claim,
  ): Promise<Reply<AcquireAnswer>>;
  /**
   * Brings the owner down to this many leases; 0 frees the lock and wakes the waiters, or gives it to
   * the next of them in the same step.
   * @param heir the next in this process; only for protocols with a `grantChannel`
   * @param keepMs above 0 the lock is not freed, and ends after so long by itself
   */
  release(
    key: string,
    owner: OwnerId,
    holdCount: number,
    heir?: Successor,
    keepMs?: number,
  ): Promise<Reply<ReleaseAnswer>>;
  /** Makes Redis forget a caller that has left: what it was granted, and that it waited. */
  cancel(key: string, owner: OwnerId, request: AcquireRequest): Promise<Reply<unknown>>;
  /** One script for keys of one slot; answers for each whether its owner still holds it. */
  renew(
    renewals: readonly Renewal[],
    minReplicas: number,
  ): Promise<Reply<readonly RenewalAnswer[]>>;
  /** A release counts who listens for wake-ups and is no process of ours. */
  readonly countsOutsiders?: boolean;
  /** The channel on which this owner is told to try again. */
  wakeUpChannel(key: string, owner: OwnerId): string;
  /**
   * The channel on which this process, or only this owner where all wait together, is told of grants;
   * without one, the lock is not handed on.
   */
  grantChannel?(key: string, owner: OwnerId): string;
}

/** Something that somebody has or nobody. */
export interface LockProtocol extends HoldProtocol {
  inspect(key: string): Promise<Reply<Inspection>>;
}
