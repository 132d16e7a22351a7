import type { LockContext } from '../../core/lock-context.js';
import type { Lock } from '../../core/api/lock.js';
import { NamedLocks } from '../../core/named-locks.js';
import { surroundingLease } from '../../core/holding/scope.js';
import { ReadLockProtocol } from './read-lock-protocol.js';
import { WriteLockProtocol } from './write-lock-protocol.js';

/** Two locks of one name: many may read, or one may write. */
export interface ReadWriteLock {
  /**
   * Held by any number of readers at a time, and never while another owner writes. Has no fencing
   * tokens: readers that hold it at the same time have no order.
   */
  readonly read: Lock;
  /**
   * Held by one writer, and by no reader but that writer. Inside it, `read` is granted at once. A
   * read lease that outlives the write lease keeps other writers out without a gap.
   * @throws {LockStateError} asked for inside `read` of the same name: a reader cannot become a
   * writer
   */
  readonly write: Lock;
}

/**
 * Read-write locks on Redis, shared with Java services with Redisson's `RReadWriteLock`. No Node
 * process starves: new readers wait behind a waiting writer, and readers that waited for a writer
 * go before the next one.
 */
export class ReadWriteLockService {
  readonly #read: NamedLocks;
  readonly #write: NamedLocks;

  /** @internal */
  constructor(context: LockContext) {
    const write: WriteLockProtocol = new WriteLockProtocol(
      context,
      (key) =>
        surroundingLease(write, key) === undefined && surroundingLease(read, key) !== undefined,
    );
    const read = new ReadLockProtocol(context, write);
    this.#read = new NamedLocks(context, read);
    this.#write = new NamedLocks(context, write);
  }

  /**
   * Both sides of the lock of this name. Costs nothing: nothing is sent, nothing is kept.
   * @throws {LockKeyError} the name cannot be used
   */
  get(name: string): ReadWriteLock {
    return { read: this.#read.get(name), write: this.#write.get(name) };
  }
}
