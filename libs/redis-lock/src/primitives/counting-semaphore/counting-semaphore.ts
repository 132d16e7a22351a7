/** How to wait for permits that are no leases. */
export interface CountingAcquireOptions {
  /**
   * How long to wait, in milliseconds; 0 is one attempt, `Infinity` waits for ever.
   * @default `waitTimeMs` of the module for `acquire`, 0 for `tryAcquire`
   */
  readonly waitTimeMs?: number | undefined;
  /** Ends the waiting: it rejects with the signal's reason, and nothing is taken. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A bare number of permits, as Redisson's `RSemaphore`. Nobody owns a permit and none of them ends:
 * what a crashed holder had is gone until somebody adds it again. A semaphore whose permits are leases
 * has no such hole. Numbers of permits are whole, from 1 to 2,147,483,647.
 *
 * Every method rejects with `LockBackendError` when Redis could not be asked, and with
 * `LockStateError` when the key holds something that is no count.
 */
export interface CountingSemaphore {
  readonly name: string;

  /**
   * Sets the free permits, if nobody has before.
   * @param options.ttlMs after so many milliseconds the semaphore is gone, whoever holds what
   * @returns whether this call has set them
   */
  trySetPermits(permits: number, options?: { readonly ttlMs?: number }): Promise<boolean>;

  /**
   * Takes so many permits at once; waits until they are free. Of one process, first come first served.
   * @param permits 1 unless given
   * @throws {LockTimeoutError} they were not free for `waitTimeMs`; nothing is taken
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  acquire(permits?: number, options?: CountingAcquireOptions): Promise<void>;

  /** As `acquire`, but answers false when they were not free. Overtakes nobody of this process. */
  tryAcquire(permits?: number, options?: CountingAcquireOptions): Promise<boolean>;

  /**
   * Gives permits back. Nobody checks that they were taken.
   * @param permits 1 unless given
   * @throws {LockBackendError} Redis has not answered for two seconds. It goes on being told for five
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

  /** Takes all that are free, and answers how many. A number below zero is brought up to it. */
  drainPermits(): Promise<number>;

  /** How many are free; below zero if `addPermits` took more away than there were. */
  availablePermits(): Promise<number>;
}
