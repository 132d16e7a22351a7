import type { Lease } from './lease.js';

/** How one call waits. */
export interface WaitOptions {
  /**
   * How long to wait, in milliseconds. 0 makes one attempt; `Infinity` waits for ever.
   * @default the module's `waitTimeMs`, 0 for `tryAcquire`
   */
  readonly waitTimeMs?: number | undefined;
  /** Aborts the waiting; the promise then rejects with `signal.reason`. Later it has no effect. */
  readonly signal?: AbortSignal | undefined;
  /** The name of options in `profiles` of the module; those that the call gives itself come first. */
  readonly profile?: string | undefined;
}

/** How one acquisition behaves. Every time is in milliseconds. */
export interface AcquireOptions extends WaitOptions {
  /**
   * No renewal: the lock ends by itself after this time, whether the work is done or not. Without
   * it the watchdog renews the lease of `watchdogLeaseMs` until the release.
   */
  readonly leaseTimeMs?: number | undefined;
  /** Also take a fencing token: a number that rises with every fenced grant of this name. */
  readonly fenced?: boolean | undefined;
  /** The watchdog stops renewing after this time, so that the lock ends at the latest one lease later. */
  readonly maxHoldMs?: number | undefined;
  /**
   * The grant, and each renewal, counts only when this number of replicas has confirmed it. With
   * one replica more than may be lost together with the master, the lock survives.
   * @default 0
   */
  readonly minReplicas?: number | undefined;
  /**
   * A lock of `LockService` stays taken for this time, also after an earlier release or a shutdown.
   * From then on it ends by itself, whatever happens to this process. Use it for jobs that a
   * machine whose clock is behind would run again, and for at most one call in this time.
   * @default 0
   */
  readonly minHoldMs?: number | undefined;
  /**
   * Metrics and traces show this text instead of the lock's name. Use one of few texts: each is
   * kept for ever. `@WithLock` and lock templates give their key, as in `product_<id>`.
   */
  readonly label?: string | undefined;
}

/** How a lock is taken away from its holder. */
export interface ForceReleaseOptions {
  /** The event `force-released` carries this text: up to 1,024 characters, none of them a control. */
  readonly reason?: string | undefined;
  /**
   * Only these owners lose the lock, as `LockMonitor.inspect` shows them. A caller that has acquired it
   * since keeps it.
   * @default all that hold it
   */
  readonly owners?: readonly string[] | undefined;
}

/** One lock, bound to its name. */
export interface Lock {
  readonly name: string;
  /** Differs between locks of one name that have different kinds or connections. */
  readonly id: string;

  /**
   * Resolves with the lease once Redis has granted the lock to this caller. Waits for at most
   * `waitTimeMs`, first come first served within the process.
   *
   * Outside a scope every call is a new owner. Inside `using` or `@WithLock` of the same name it
   * joins that hold; two such calls side by side take turns, so nest by `using`.
   * @throws {LockTimeoutError} another owner had it all the time
   * @throws {LockBackendError} Redis could not be asked; what it may still grant is given back
   * @throws {LockReplicationError} fewer than `minReplicas` replicas have it
   * @throws {LockStateError} the key holds something else
   * @throws {LeaseLostError} the surrounding hold, which this call would join, is lost
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(options?: AcquireOptions): Promise<Lease>;

  /**
   * As `acquire`, but resolves with null when another owner has the lock. One attempt by default.
   */
  tryAcquire(options?: AcquireOptions): Promise<Lease | null>;

  /**
   * Acquires the lock, runs the work, and always releases. Resolves with the work's result.
   * The work's own error passes through untouched; a failed release never replaces it.
   * @throws {LeaseLostError} the lease was lost while the work ran; `result` holds what it returned
   */
  using<T>(work: (lease: Lease) => T, options?: AcquireOptions): Promise<Awaited<T>>;

  /** Whether the lock is held at this moment. */
  isLocked(): Promise<boolean>;

  /** The rest of the present lease: 0 when the lock is free, `Infinity` when it never ends. */
  remainingTimeMs(): Promise<number>;

  /**
   * Takes the lock away from its holder, and wakes the waiters or hands it over to the next one. Resolves
   * with false when it was free. Administrative: the holder learns of it at its next renewal or release.
   * The event `force-released` says who held it.
   * @throws {LockArgumentError} an option is unknown, or has a wrong value
   * @throws {LockBackendError} Redis could not be asked
   * @throws {LockStateError} the key holds something else
   */
  forceRelease(options?: ForceReleaseOptions): Promise<boolean>;
}
