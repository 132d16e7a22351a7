import type { LockContext } from '../../core/lock-context.js';
import { NamedLocks } from '../../core/named-locks.js';
import { FairLockProtocol } from './fair-lock-protocol.js';

/**
 * Fair locks on Redis. Callers get the lock in the order of their calls, among all processes that
 * share the server. Java services with Redisson's `RFairLock` are included.
 */
export class FairLockService extends NamedLocks {
  /** @internal */
  constructor(context: LockContext) {
    super(context, new FairLockProtocol(context));
  }
}
