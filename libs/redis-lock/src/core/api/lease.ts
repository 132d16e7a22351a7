/**
 * A granted lock. Release it when your work ends.
 * @typeParam Fenced `true` where the compiler knows that the lease has a fencing token
 */
export interface Lease<Fenced extends boolean = boolean> extends AsyncDisposable {
  readonly name: string;
  /** `<client uuid>:<number>`, as Redis stores it. Not a secret, but do not log it. */
  readonly owner: string;
  /** The number of leases that the owner held after this grant: 1, or more in a nested call. */
  readonly holdCount: number;
  /** Grows with each fenced grant of this name. Undefined without the option `fenced`. */
  readonly fencingToken: Fenced extends true ? number : number | undefined;
  /**
   * - `held`: Redis has confirmed the lease, and it has not ended.
   * - `suspect`: Redis did not answer a renewal, or the machine stood still.
   * - `lost`: final; another owner may hold the lock.
   * - `released`: you have released it.
   */
  readonly state: 'held' | 'suspect' | 'lost' | 'released';
  /**
   * The rest of the lease in milliseconds, by the local clock. The lease counts from the moment in
   * which the request was sent. 0 once it is over.
   */
  readonly remainingMs: number;
  /**
   * Aborts with a `LeaseLostError` as soon as the loss is known. A stalled process notices nothing
   * until it runs again: call `assertHeld()` before each write that counts.
   */
  readonly signal: AbortSignal;

  /**
   * Returns only if the lock is held for sure. Synchronous: it checks the clocks and sends nothing.
   * @throws {LeaseLostError} the lease is over, or the machine stood still and no renewal has
   * confirmed it since
   * @throws {LockStateError} you have released it
   */
  assertHeld(): void;

  /**
   * Resolves once Redis has renewed the lease: it lasts at least `leaseTimeMs` from the moment of
   * the call. Never makes it shorter.
   * @param leaseTimeMs in milliseconds, by default the present lease time
   * @throws {LeaseLostError} it is no longer held
   * @throws {LockBackendError} Redis did not answer, or refused
   */
  renew(leaseTimeMs?: number): Promise<void>;

  /**
   * Releases exactly this lease. The lock is free once its owner has released all its leases. A
   * second call does nothing.
   * @throws {LeaseLostError} it was no longer held
   * @throws {LockBackendError} Redis did not answer; the release is repeated until the lease ends
   */
  release(): Promise<void>;

  /** As `release`, but never rejects, so that it cannot hide an error of your work. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Permits of a semaphore that Redis granted together. */
export interface PermitLease extends Lease {
  /**
   * Any client with these ids can release the permits, a Java service included. 32 hexadecimal
   * digits each.
   */
  readonly permitIds: readonly string[];
}
