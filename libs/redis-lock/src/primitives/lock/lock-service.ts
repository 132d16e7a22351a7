import { describeValue, LockArgumentError } from '../../core/api/errors.js';
import type { LockContext } from '../../core/lock-context.js';
import type { AcquireOptions, Lock } from '../../core/api/lock.js';
import { asLock, multiLock, type MultiLock } from '../multi-lock/multi-lock.js';
import { NamedLocks } from '../../core/named-locks.js';
import { ReentrantLockProtocol } from './lock-protocol.js';

/**
 * Reentrant locks on Redis: one holder at a time among all processes that share the server. Java
 * services with Redisson's `RLock` are included.
 */
export class LockService extends NamedLocks {
  /** @internal */
  constructor(context: LockContext) {
    super(context, new ReentrantLockProtocol(context));
  }

  /**
   * Several locks as one: names of this service, and locks of any other service and connection. As
   * `get`, it sends and stores nothing.
   * @throws {LockArgumentError} no locks, too many, or two that would wait for each other
   * @throws {LockKeyError} a name is not valid
   */
  multi(locks: readonly (string | Lock)[]): MultiLock {
    if (!Array.isArray(locks)) {
      throw new LockArgumentError(`multi needs an array, not ${describeValue(locks)}`);
    }
    // A copy has no holes.
    const all = [...(locks as readonly (string | Lock)[])].map((lock) =>
      asLock(lock, (name) => this.get(name)),
    );
    return multiLock(this.context, all);
  }

  /**
   * The option `holdAfter` of a call, or of its profile.
   * @internal
   */
  holdAfterOf({ profile, holdAfter }: AcquireOptions): AcquireOptions['holdAfter'] {
    if (holdAfter !== undefined || profile === undefined) return holdAfter;
    return this.context.settings.profiles[profile]?.holdAfter;
  }

  /**
   * The time by the wall clock of this process, or by the clock of a test: ms since 1970.
   * @internal
   */
  wallTime(): number {
    return this.context.clock.wall();
  }
}
