import type { WaitOptions } from '../../core/api/lock.js';

/**
 * Opens once it has been counted down to zero. A latch that was never set, or was deleted, cannot
 * be told from one that has opened: it is open. Set it before a caller waits.
 */
export interface CountDownLatch {
  readonly name: string;

  /**
   * Sets the count, from 1 to 2,147,483,647, if there is none; a latch that has opened can be set again.
   * @returns whether this call has set it
   * @throws {LockBackendError} Redis could not be asked; call again unless the outcome is `unknown`
   * @throws {LockStateError} the key holds something else
   */
  trySetCount(count: number): Promise<boolean>;

  /**
   * Counts down by one; the last one opens the latch. An open latch stays open.
   * @returns what is left to be counted
   * @throws {LockBackendError} Redis has not answered for two seconds. The request goes on for five
   * minutes: do not call again
   * @throws {LockStateError} the key holds something else
   */
  countDown(): Promise<number>;

  /** The remaining count; 0 is an open latch. */
  getCount(): Promise<number>;

  /**
   * Waits until Redis has said during this call that the latch is open. A message wakes it up, and
   * it looks by itself every `pollIntervalMs`.
   * @returns false when time is over and it was still closed
   * @throws {LockBackendError} Redis could not be asked
   * @throws {LockLimitError} too many callers of this process wait, or it uses too many keys
   * @throws {LockShutdownError} the application is closing
   */
  wait(options?: WaitOptions): Promise<boolean>;

  /**
   * Deletes the latch; its waiters go on as if it had opened.
   * @returns whether there was one
   */
  delete(): Promise<boolean>;
}
