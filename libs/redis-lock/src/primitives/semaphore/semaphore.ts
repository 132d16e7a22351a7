import type { PermitLease } from '../../core/api/lease.js';
import type { AcquireOptions } from '../../core/api/lock.js';

/** The number of permits of a semaphore. */
export interface SemaphoreOptions {
  /**
   * The number of permits in all, from 1 to 2,147,483,647. The first acquisition sets it if it is
   * not set; an existing number stays. Without this option, `trySetPermits` sets the number.
   */
  readonly capacity?: number | undefined;
}

/** How one acquisition of permits behaves. Every time is in milliseconds. */
export interface SemaphoreAcquireOptions
  extends Omit<AcquireOptions, 'fenced' | 'nesting'>, SemaphoreOptions {
  /**
   * How many permits this call acquires, all at once or none; up to 1,000.
   * @default 1
   */
  readonly permits?: number | undefined;
}

/**
 * A limited number of permits. Each permit is a lease: if its process dies, it is free when the
 * lease ends. Only its id gives access to a permit, so nothing here is reentrant. A call inside
 * `using` acquires further permits.
 */
export interface Semaphore {
  readonly name: string;

  /**
   * Sets the number of permits if it is not set. Resolves with false, without a change, if it is.
   * @param permits from 1 to 2,147,483,647
   */
  trySetPermits(permits: number): Promise<boolean>;

  /**
   * Sets the number of permits in all, and replaces an earlier number. Holders keep their permits:
   * if more are in use, `availablePermits()` is negative until they are released.
   * @param permits from 1 to 2,147,483,647
   */
  setPermits(permits: number): Promise<void>;

  /**
   * Adds permits, or removes them if the number is negative.
   * @throws {LockStateError} the sum would be more than 2,147,483,647
   */
  addPermits(permits: number): Promise<void>;

  /** Permits that are free at this moment. Negative if more are in use than exist. */
  availablePermits(): Promise<number>;

  /** Permits that are in use at this moment. */
  acquiredPermits(): Promise<number>;

  /** Permits in all, free or not; 0 before they are set. */
  permits(): Promise<number>;

  /**
   * Resolves with the lease once Redis has granted all the permits of the call. Waits for at most
   * `waitTimeMs`, first come first served within the process. It also waits if the permits are not
   * set and no `capacity` is given.
   * @throws {LockTimeoutError} too few were free all the time, or none are set
   * (`blockedBy: 'unset'`)
   * @throws {LockStateError} the semaphore has fewer permits in all, or the key holds another type
   * @throws {LockBackendError} Redis did not answer, or refused; a late grant is released
   * @throws {LockReplicationError} fewer than `minReplicas` replicas confirmed it
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(options?: SemaphoreAcquireOptions): Promise<PermitLease>;

  /** As `acquire`, but resolves with null when too few are free. One attempt by default. */
  tryAcquire(options?: SemaphoreAcquireOptions): Promise<PermitLease | null>;

  /**
   * Acquires permits, runs the work, and always releases them. Resolves with the work's result. An
   * error of the work passes through unchanged; a failed release never replaces it.
   * @throws {LeaseLostError} the lease was lost while the work ran; `result` is the work's result
   */
  using<T>(work: (lease: PermitLease) => T, options?: SemaphoreAcquireOptions): Promise<Awaited<T>>;

  /**
   * Releases permits by their ids, also those of another process or a Java service. Resolves with
   * false, and releases none, if one of them is not held. It may be unknown, of another semaphore,
   * expired, or already released. A `PermitLease` with one of them is lost at its next renewal.
   * @param permitIds 32 hexadecimal digits each; up to 1,000
   */
  tryRelease(permitIds: string | readonly string[]): Promise<boolean>;

  /**
   * As `tryRelease`, but rejects if one of them is not held.
   * @throws {LockStateError} one is not held; none was released
   */
  release(permitIds: string | readonly string[]): Promise<void>;

  /**
   * Makes the lease of one permit end `leaseTimeMs` after this moment, sooner or later than before.
   * Resolves with false if it is not held. The watchdog renews a `PermitLease` without this call.
   */
  updateLeaseTime(permitId: string, leaseTimeMs: number): Promise<boolean>;

  /**
   * The rest of one permit's lease, in milliseconds: 0 when it is not held, `Infinity` when it has
   * no lease.
   */
  remainingTimeMs(permitId: string): Promise<number>;
}
