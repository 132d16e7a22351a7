import type {
  EnterAnswer,
  EnterRequest,
  HoldProtocol,
  OwnerId,
  Renewal,
} from '../../core/hold-protocol.js';
import { helperKey } from '../../core/key-space.js';
import type { LockContext } from '../../core/lock-context.js';
import { NamedLocks } from '../../core/named-locks.js';
import type { RedisConnection, Reply } from '../../core/redis-connection.js';
import { ENTER, ENTER_FENCED, INSPECT, LEAVE, RENEW } from './reentrant-lock.scripts.js';

/** Long after any resource has forgotten a token, its floor by the server's time takes over. */
const TOKEN_TTL_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Reentrant locks on Redis: one holder at a time among all processes that share the server, Java
 * services with Redisson's `RLock` included.
 */
export class LockService extends NamedLocks {
  constructor(context: LockContext) {
    super(context, new ReentrantProtocol(context.connection));
  }
}

class ReentrantProtocol implements HoldProtocol {
  readonly kind = 'lock';

  constructor(private readonly connection: RedisConnection) {}

  enter(key: string, owner: OwnerId, request: EnterRequest): Promise<Reply<EnterAnswer>> {
    const { holdCount, leaseTimeMs: leaseMs } = request;
    if (!request.fenced) {
      return this.connection.run(ENTER, { lock: key }, { owner, holdCount, leaseMs });
    }
    return this.connection.run(
      ENTER_FENCED,
      { lock: key, token: helperKey('redisson_lock_token', key) },
      { owner, holdCount, leaseMs, tokenTtlMs: TOKEN_TTL_MS },
    );
  }

  leave(key: string, owner: OwnerId, holdCount: number) {
    const channel = this.wakeUpChannel(key);
    return this.connection.run(LEAVE, { lock: key }, { owner, holdCount, channel });
  }

  renew(renewals: readonly Renewal[]) {
    const keys = renewals.map(({ key }) => key);
    const args = renewals.flatMap(({ owner, leaseTimeMs }) => [owner, leaseTimeMs]);
    return this.connection.run(RENEW, keys, args);
  }

  inspect(key: string) {
    return this.connection.run(INSPECT, { lock: key }, {});
  }

  wakeUpChannel(key: string): string {
    return helperKey('redisson_lock__channel', key);
  }
}
