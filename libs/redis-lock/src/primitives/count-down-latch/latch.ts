import type { WaitOptions } from '../../core/api/lock.js';

/**
 * Opens once it has been counted down to zero. A latch that was never set, or was deleted, looks
 * like an opened one: it is open. Set it before a caller waits.
 */
export interface CountDownLatch {
  readonly name: string;

  /**
   * Sets the count, from 1 to 2,147,483,647, if there is none. An opened latch can be set again.
   * @returns whether this call has set it
   * @throws {LockBackendError} Redis did not answer; call again unless the outcome is `unknown`
   * @throws {LockStateError} the key holds another type
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Counts down by one. The last one opens the latch. An open latch stays open.
   * @returns the remaining count
   * @throws {LockBackendError} Redis did not answer for two seconds. The request goes on for five
   * minutes: do not call again
   * @throws {LockStateError} the key holds another type
   */
  countDown(): Promise<number>;

  /** The remaining count; 0 is an open latch. */
  getCount(): Promise<number>;

  /**
   * Waits until Redis answers, during this call, that the latch is open. A message wakes the
   * waiter. It also polls every `pollIntervalMs`.
   * @returns false when the waiting time is over and the latch is still closed
   * @throws {LockBackendError} Redis did not answer, or refused
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  wait(options?: WaitOptions): Promise<boolean>;

  /**
   * Deletes the latch. Its waiters continue, as when it opens.
   * @returns whether there was one
   */
  delete(): Promise<boolean>;
}
