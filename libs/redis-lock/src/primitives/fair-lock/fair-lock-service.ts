import type { LockContext } from '../../core/lock-context.js';
import { NamedLocks } from '../../core/named-locks.js';
import { FairLockProtocol } from './fair-lock-protocol.js';

/**
 * Fair locks on Redis: who asked first gets the lock first, among all processes that share the
 * server, Java services with Redisson's `RFairLock` included.
 */
export class FairLockService extends NamedLocks {
  constructor(context: LockContext) {
    super(context, new FairLockProtocol(context));
  }
}
