import type { WaitOptions } from '../../core/api/lock.js';

/**
 * A plain number of permits, as Redisson's `RSemaphore`. A permit has no owner and no lease. The
 * permits of a crashed holder are gone until a caller adds them again. So are those that are not
 * released within `shutdownTimeoutMs` of a shutdown. A semaphore whose permits are leases has no
 * such gap. Numbers of permits are whole, from 1 to 2,147,483,647.
 *
 * Every method rejects with `LockBackendError` when Redis does not answer, or refuses. It rejects
 * with `LockStateError` when the key holds another type than a number.
 */
export interface CountingSemaphore {
  readonly name: string;

  /**
   * Sets the free permits, if they are not set.
   * @param options.ttlMs the semaphore expires after this time, even while callers hold permits
   * @returns whether this call has set them
   */
  trySetPermits(permits: number, options?: { readonly ttlMs?: number }): Promise<boolean>;

  /**
   * Acquires this number of permits at once. Waits until they are free, in the order of the callers
   * of this process.
   * @param permits 1 unless given
   * @throws {LockTimeoutError} they were not free for `waitTimeMs`; nothing is acquired
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(permits?: number, options?: WaitOptions): Promise<void>;

  /**
   * As `acquire`, but resolves with false if they are not free. Overtakes no caller of this
   * process.
   */
  tryAcquire(permits?: number, options?: WaitOptions): Promise<boolean>;

  /**
   * Releases permits. Redis does not check that they were acquired.
   * @param permits 1 unless given
   * @throws {LockBackendError} Redis did not answer for two seconds. The request goes on for five
   * minutes: do not call again
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, for a semaphore that may have been deleted meanwhile.
   * @returns whether there was one
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /** Adds permits or, if negative, removes them, also below zero. A TTL stays as it is. */
  addPermits(permits: number): Promise<void>;

  /**
   * Acquires all free permits, and resolves with their number. A number below zero becomes zero.
   */
  drainPermits(): Promise<number>;

  /** The number of free permits. Below zero if `addPermits` removed more than there were. */
  availablePermits(): Promise<number>;
}
