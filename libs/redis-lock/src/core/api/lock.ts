import type { Lease } from './lease.js';

/** How one call waits. */
export interface WaitOptions {
  /**
   * How long to wait, in milliseconds. 0 makes one attempt; `Infinity` waits without a limit. While
   * Redis has not answered the call yet, it waits for 250 ms at least.
   * @default the module's `waitTimeMs`, 0 for `tryAcquire`
   */
  readonly waitTimeMs?: number | undefined;
  /**
   * Aborts the waiting: the promise rejects with `signal.reason`. After the grant it has no effect.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * The name of an entry in the module's `profiles`. Options of the call itself take precedence.
   */
  readonly profile?: string | undefined;
}

/**
 * The behaviour of a call inside of a hold of the same lock. That is in `using`, in a decorated
 * method, or in anything that these start.
 * - `join`: it joins the hold, and goes on at once.
 * - `wait`: it is a new owner, and waits until the hold ends. A caller that awaits such a call
 *   inside its own hold waits for itself, until `waitTimeMs` is over.
 * - `refuse`: it rejects at once, with its place, and that of the hold if that has `refuse`, too.
 */
export type Nesting = 'join' | 'wait' | 'refuse';

/**
 * How one acquisition behaves. Every time is in milliseconds.
 * @typeParam Fenced `true` where the compiler knows that the call is fenced
 */
export interface AcquireOptions<Fenced extends boolean = boolean> extends WaitOptions {
  /**
   * A fixed lease without renewal: it ends after this time, even while the work runs. Without this
   * option the watchdog renews a lease of `watchdogLeaseMs` until the release. A lease that is
   * shorter than a round trip to Redis is refused with `LockArgumentError` after three grants.
   *
   * Another process that hands the lock over grants less at first: `claimTimeMs`. The renewal to
   * the whole lease is sent before the work begins. Until its answer is read, `assertHeld()` may
   * throw once that shorter time is over.
   */
  readonly leaseTimeMs?: number | undefined;
  /**
   * The lease that the watchdog renews after each third. Shorter means more renewals, but another
   * instance takes over sooner after a crash. The longest one of nested calls counts. After a
   * hand-over it begins as `leaseTimeMs` does.
   * @default the module's `watchdogLeaseMs`
   */
  readonly watchdogLeaseMs?: number | undefined;
  /** Also take a fencing token: a number that grows with each fenced grant of this name. */
  readonly fenced?: Fenced | undefined;
  /** The watchdog stops renewing after this time. The lock ends at most one lease later. */
  readonly maxHoldMs?: number | undefined;
  /**
   * The grant, and each renewal, counts only when this many replicas have confirmed it. Set one
   * more than the replicas that may fail together with the master.
   * @default 0
   */
  readonly minReplicas?: number | undefined;
  /**
   * A lock of `LockService` stays held for at least this time, even after a release, a shutdown or
   * a crash. Then it expires in Redis. Use it for jobs that run at most once in this
   * time, even if another machine's clock is behind.
   * @default 0
   */
  readonly minHoldMs?: number | undefined;
  /**
   * When `minHoldMs` counts. With `success`, work that throws frees the lock, and so does a
   * crash: the work may be tried again. Only `using` and decorators see how the work ends.
   * `acquire` and `tryAcquire` refuse it.
   * @default 'always'
   */
  readonly holdAfter?: 'always' | 'success' | undefined;
  /**
   * Metrics and traces show this text instead of the lock's name. Use few different texts: each one
   * is kept until the process ends. `@WithLock` and lock templates use their key, as in
   * `product_<id>`.
   */
  readonly label?: string | undefined;
  /**
   * The behaviour of this call inside of a hold of the same lock. A job of a shared queue, or
   * a listener, may run inside of a stranger's hold: give it `wait`.
   * @default the module's `nesting`
   */
  readonly nesting?: Nesting | undefined;
}

/** How `forceRelease` takes a lock away from its holders. */
export interface ForceReleaseOptions {
  /**
   * The event `force-released` carries this text: up to 1,024 characters without control
   * characters.
   */
  readonly reason?: string | undefined;
  /**
   * Only these owners lose the lock, as `LockMonitor.inspect` shows them. An owner that has
   * acquired it since keeps it.
   * @default all holders
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
   * joins that hold, unless `nesting` says otherwise. Two such calls side by side take turns, so
   * nest by `using`.
   * @throws {LockTimeoutError} another owner held it during the whole waiting time
   * @throws {LockNestingError} a hold of the same lock surrounds the call, with `nesting: 'refuse'`
   * @throws {LockBackendError} Redis did not answer, or refused; a late grant is released
   * @throws {LockReplicationError} fewer than `minReplicas` replicas confirmed it
   * @throws {LockStateError} the key holds another type
   * @throws {LeaseLostError} the surrounding hold, which this call would join, is lost
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(options?: AcquireOptions): Promise<Lease>;

  /**
   * As `acquire`, but resolves with null when another owner holds the lock. One attempt by default.
   */
  tryAcquire(options?: AcquireOptions): Promise<Lease | null>;

  /**
   * Acquires the lock, runs the work, and always releases. Resolves with the work's result. An
   * error of the work passes through unchanged; a failed release never replaces it. If Redis does not
   * answer the release, the call resolves after 2 s. The event `release-failed` reports it, and so
   * does `await lease.release()` at the end of the work.
   * @throws {LeaseLostError} the lease was lost while the work ran; `result` is the work's result
   * @throws {LockArgumentError} the work returned an Observable, a generator or a stream, which would
   * run after the release
   */
  using<T>(work: (lease: Lease) => T, options?: AcquireOptions): Promise<Awaited<T>>;

  /**
   * Whether an owner holds the lock at this moment. A lease of this process that Redis does not
   * store any more is lost by then.
   */
  isLocked(): Promise<boolean>;

  /**
   * The rest of the present lease in milliseconds: 0 when the lock is free, `Infinity` when it has
   * no lease.
   */
  remainingTimeMs(): Promise<number>;

  /**
   * Takes the lock away from its holders, and hands it over or notifies the waiters. Resolves with
   * false when it was free. For administration: the holder loses the lock. It notices this at its
   * next renewal or release, and at once in this process. The event `force-released` names the former holders.
   * @throws {LockArgumentError} an option is unknown, or has a wrong value
   * @throws {LockBackendError} Redis did not answer, or refused
   * @throws {LockStateError} the key holds another type
   */
  forceRelease(options?: ForceReleaseOptions): Promise<boolean>;
}
