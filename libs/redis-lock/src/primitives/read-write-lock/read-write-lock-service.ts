import type { LockContext } from '../../core/lock-context.js';
import type { Lock } from '../../core/api/lock.js';
import { NamedLocks } from '../../core/named-locks.js';
import { surroundingLease } from '../../core/holding/scope.js';
import { ReadLockProtocol } from './read-lock-protocol.js';
import { WriteLockProtocol } from './write-lock-protocol.js';

/** Two locks of one name: many owners may read, or one may write. */
export interface ReadWriteLock {
  /**
   * Held by any number of readers at a time, and never while another owner writes. Has no fencing
   * tokens: readers that hold it at the same time have no order.
   */
  readonly read: Lock;
  /**
   * Held by one writer, and by no reader except that writer. Inside it, `read` is granted at once.
   * A read lease that outlives the write lease keeps other writers out without a gap.
   * @throws {LockStateError} the call is inside `read` of the same name: a reader cannot become a
   * writer
   */
  readonly write: Lock;
}

/**
 * Read-write locks on Redis, shared with Java services with Redisson's `RReadWriteLock`. No Node
 * process starves. New readers wait behind a waiting writer. Readers that waited for a writer go
 * before the next writer.
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
   * Both sides of the lock of this name. It sends and stores nothing.
   * @throws {LockKeyError} the name is not valid
   */
  get(name: string): ReadWriteLock {
    return { read: this.#read.get(name), write: this.#write.get(name) };
  }
}
