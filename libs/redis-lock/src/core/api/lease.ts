/** A lock that was granted, and the right to give it back. */
export interface Lease extends AsyncDisposable {
  readonly name: string;
  /** `<client uuid>:<number>`, as Redis shows it. Not a secret, but not for logs either. */
  readonly owner: string;
  /**
   * The number of leases that the owner had when this one was granted: 1, or more in a nested call.
   */
  readonly holdCount: number;
  /** Rises with every fenced grant of this name; undefined unless `fenced` was asked for. */
  readonly fencingToken: number | undefined;
  /**
   * `held`; `suspect`: Redis could not be asked to renew, or the machine stood still; `lost`: final,
   * another owner may have it; `released`: given back.
   */
  readonly state: 'held' | 'suspect' | 'lost' | 'released';
  /** The rest of the lease by the local clock, counted from the send time; 0 once it is over. */
  readonly remainingMs: number;
  /**
   * Aborts with a `LeaseLostError` as soon as the loss is known. A stalled process learns nothing
   * until it goes on: call `assertHeld()` before each write that counts.
   */
  readonly signal: AbortSignal;

  /**
   * Returns if the lock is held for sure. Synchronous, by the clocks, without asking Redis.
   * @throws {LeaseLostError} the lease is over, or the machine stood still and no renewal has
   * confirmed it since
   * @throws {LockStateError} it was released
   */
  assertHeld(): void;

  /**
   * Resolves once Redis has prolonged the lease: it then lasts at least `leaseTimeMs` from the
   * moment of the call. Never makes it shorter.
   * @param leaseTimeMs the present lease, unless given
   * @throws {LeaseLostError} it is held no more
   * @throws {LockBackendError} Redis could not be asked
   */
  renew(leaseTimeMs?: number): Promise<void>;

  /**
   * Gives back exactly this lease; the lock is free once all leases of its owner are given back.
   * A second call does nothing.
   * @throws {LeaseLostError} it was not held any more
   * @throws {LockBackendError} Redis could not be asked; the release is tried on until the lease ends
   */
  release(): Promise<void>;

  /** As `release`, but never rejects, so that an error of the work is not buried. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Permits of a semaphore that were granted together. */
export interface PermitLease extends Lease {
  /**
   * Any client with these ids can give the permits back, a Java service included; 32 hexadecimal
   * digits each.
   */
  readonly permitIds: readonly string[];
}
