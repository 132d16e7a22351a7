import { TOKEN_TTL_MS, tokenKey } from '../../core/fencing-token.js';
import { ENTER, ENTER_FENCED, INSPECT, LEAVE, renewHashes } from '../../core/hash-lock.js';
import type {
  EnterAnswer,
  EnterRequest,
  LockProtocol,
  OwnerId,
  Renewal,
} from '../../core/hold-protocol.js';
import { describeValue, LockArgumentError } from '../../core/errors.js';
import { helperKey } from '../../core/key-space.js';
import type { LockContext } from '../../core/lock-context.js';
import type { Lock } from '../../core/lock.js';
import { asLock, multiLock, type MultiLock } from '../../core/multi-lock.js';
import { NamedLocks } from '../../core/named-locks.js';
import { LOCK_OPTIONS } from '../../core/options.js';
import type { RedisConnection, Reply } from '../../core/redis-connection.js';

/**
 * Reentrant locks on Redis: one holder at a time among all processes that share the server, Java
 * services with Redisson's `RLock` included.
 */
export class LockService extends NamedLocks {
  constructor(context: LockContext) {
    super(context, new ReentrantProtocol(context.connection));
  }

  /**
   * Several locks as one: names of this service, and locks of any other service and connection.
   * Costs nothing, as `get`.
   * @throws {LockArgumentError} no locks, too many, or two that would wait for each other
   * @throws {LockKeyError} a name cannot be used
   */
  multi(locks: readonly (string | Lock)[]): MultiLock {
    if (!Array.isArray(locks)) {
      throw new LockArgumentError(`multi needs an array, not ${describeValue(locks)}`);
    }
    const all = locks.map((lock) => asLock(lock, (name) => this.get(name)));
    return multiLock(this.context, all);
  }
}

class ReentrantProtocol implements LockProtocol {
  readonly kind = 'lock';
  readonly options = LOCK_OPTIONS;
  readonly nesting = 'in turn';
  readonly waiting = 'in turn';
  readonly isShared = false;
  readonly remembersWaiters = false;

  constructor(private readonly connection: RedisConnection) {}

  enter(key: string, owner: OwnerId, request: EnterRequest): Promise<Reply<EnterAnswer>> {
    const { holdCount, leaseTimeMs: leaseMs, minReplicas } = request;
    if (!request.fenced) {
      const args = { owner, holdCount, leaseMs };
      return this.connection.run(ENTER, { lock: key }, args, minReplicas);
    }
    const args = { owner, holdCount, leaseMs, tokenTtlMs: TOKEN_TTL_MS };
    return this.connection.run(
      ENTER_FENCED,
      { lock: key, token: tokenKey(key) },
      args,
      minReplicas,
    );
  }

  leave(key: string, owner: OwnerId, holdCount: number) {
    const channel = this.wakeUpChannel(key);
    return this.connection.run(LEAVE, { lock: key }, { owner, holdCount, channel });
  }

  withdraw(key: string, owner: OwnerId) {
    return this.leave(key, owner, 0);
  }

  renew(renewals: readonly Renewal[], minReplicas: number) {
    return renewHashes(this.connection, renewals, minReplicas);
  }

  inspect(key: string) {
    return this.connection.run(INSPECT, { lock: key }, {});
  }

  wakeUpChannel(key: string): string {
    return helperKey('redisson_lock__channel', key);
  }
}
