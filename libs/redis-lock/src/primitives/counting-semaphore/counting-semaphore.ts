import type { WaitOptions } from '../../core/api/lock.js';

/**
 * A bare number of permits, as Redisson's `RSemaphore`. A permit has no owner and no lease: the
 * permits of a crashed holder are gone until a caller adds them again. So are those that are not
 * released within `shutdownTimeoutMs` of a shutdown. A semaphore whose permits are leases has no such
 * gap. Numbers of permits are whole, from 1 to 2,147,483,647.
 *
 * Every method rejects with `LockBackendError` when Redis could not be asked. It rejects with
 * `LockStateError` when the key holds something that is no count.
 */
export interface CountingSemaphore {
  readonly name: string;

  /**
   * Sets the free permits, if they were not set before.
   * @param options.ttlMs the semaphore expires after this time, whatever callers hold
   * @returns whether this call has set them
   */
  trySetPermits(permits: number, options?: { readonly ttlMs?: number }): Promise<boolean>;

  /**
   * Takes this number of permits at once; waits until they are free. Callers of one process are
   * served in order.
   * @param permits 1 unless given
   * @throws {LockTimeoutError} they were not free for `waitTimeMs`; nothing is taken
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(permits?: number, options?: WaitOptions): Promise<void>;

  /**
   * As `acquire`, but answers false when they were not free. Overtakes no caller of this process.
   */
  tryAcquire(permits?: number, options?: WaitOptions): Promise<boolean>;

  /**
   * Gives permits back. Redis does not check that they were taken.
   * @param permits 1 unless given
   * @throws {LockBackendError} Redis has not answered for two seconds. The request goes on for five
   * minutes: do not call again
   */
  release(permits?: number): Promise<void>;

  /**
   * As `release`, for a semaphore that may have been deleted meanwhile.
   * @returns whether there was one
   */
  releaseIfExists(permits?: number): Promise<boolean>;

  /** Adds permits or, if negative, takes them away, also below zero. A TTL stays as it is. */
  addPermits(permits: number): Promise<void>;

  /** Takes all free permits, and answers how many. A number below zero is brought up to it. */
  drainPermits(): Promise<number>;

  /** The number of free permits; below zero if `addPermits` took more away than there were. */
  availablePermits(): Promise<number>;
}
