import type { PermitLease } from '../../core/api/lease.js';
import type { AcquireOptions } from '../../core/api/lock.js';

/** The number of permits that a semaphore gets where nobody has set it. */
export interface SemaphoreOptions {
  /**
   * How many permits there are in all, from 1 to 2,147,483,647. The first acquisition sets this number
   * where nobody has; a number that is set stays as it is. Without it, `trySetPermits` sets the number.
   */
  readonly capacity?: number | undefined;
}

/** How one acquisition of permits behaves. Every time is in milliseconds. */
export interface SemaphoreAcquireOptions extends Omit<AcquireOptions, 'fenced'>, SemaphoreOptions {
  /**
   * How many permits this call takes, all at once or none; up to 1,000.
   * @default 1
   */
  readonly permits?: number | undefined;
}

/**
 * A number of permits that can be held at a time. Permits are leases: those of a process that died
 * come back when its lease ends. Only its id gives access to a permit, so nothing here is
 * re-entrant: a call inside `using` takes further permits.
 */
export interface Semaphore {
  readonly name: string;

  /**
   * Gives the semaphore its number of permits. Resolves with false, without a change, when it has one
   * already.
   * @param permits from 1 to 2,147,483,647
   */
  trySetPermits(permits: number): Promise<boolean>;

  /**
   * Gives the semaphore this number of permits in all, whatever it had. Nothing is taken from holders:
   * with more in use than that, `availablePermits()` is negative until they are given back.
   * @param permits from 1 to 2,147,483,647
   */
  setPermits(permits: number): Promise<void>;

  /**
   * Adds permits; takes them away if the number is negative.
   * @throws {LockStateError} it would be more than 2,147,483,647
   */
  addPermits(permits: number): Promise<void>;

  /** Permits that are free at this moment; negative when more are in use than there are in all. */
  availablePermits(): Promise<number>;

  /** Permits that are in use at this moment. */
  acquiredPermits(): Promise<number>;

  /** Permits in all, free or not; 0 before they were set. */
  permits(): Promise<number>;

  /**
   * Resolves with the lease once Redis has granted all the permits of the call. Waits for at most
   * `waitTimeMs`, first come first served within the process; also while nobody has set the permits,
   * and no `capacity` is given.
   * @throws {LockTimeoutError} there were too few all the time; or nobody has set them
   * (`blockedBy: 'unset'`)
   * @throws {LockStateError} the semaphore has fewer permits than that in all, or the key holds
   * something else
   * @throws {LockBackendError} Redis could not be asked; what it may still grant is given back
   * @throws {LockReplicationError} fewer than `minReplicas` replicas have it
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(options?: SemaphoreAcquireOptions): Promise<PermitLease>;

  /** As `acquire`, but resolves with null when there are too few. One attempt by default. */
  tryAcquire(options?: SemaphoreAcquireOptions): Promise<PermitLease | null>;

  /**
   * Acquires permits, runs the work, and always gives them back. Resolves with the work's result.
   * The work's own error passes through untouched; a failed release never replaces it.
   * @throws {LeaseLostError} the lease was lost while the work ran; `result` holds what it returned
   */
  using<T>(work: (lease: PermitLease) => T, options?: SemaphoreAcquireOptions): Promise<Awaited<T>>;

  /**
   * Gives back permits by their ids, also those of another process or a Java service. Resolves with
   * false, and has given back none, when one of them is not held: unknown, of another semaphore,
   * expired, or given back already. A `PermitLease` that had one of them is lost with its next
   * renewal.
   * @param permitIds 32 hexadecimal digits each; up to 1,000
   */
  tryRelease(permitIds: string | readonly string[]): Promise<boolean>;

  /**
   * As `tryRelease`, but rejects when one of them is not held.
   * @throws {LockStateError} it is not; none was given back
   */
  release(permitIds: string | readonly string[]): Promise<void>;

  /**
   * Makes the lease of one permit end `leaseTimeMs` after this moment, sooner or later than before.
   * Resolves with false when it is not held. Our own leases are renewed by themselves.
   */
  updateLeaseTime(permitId: string, leaseTimeMs: number): Promise<boolean>;

  /** The rest of the lease of one permit: 0 when it is not held, `Infinity` when it never ends. */
  remainingTimeMs(permitId: string): Promise<number>;
}
