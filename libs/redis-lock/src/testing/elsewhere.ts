import type { Clock } from '../core/time/clock.js';
import type { Hold } from '../core/holding/hold.js';
import type { Lease } from '../core/api/lease.js';
import { LockContext } from '../core/lock-context.js';
import type { Lock } from '../core/api/lock.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { QuorumConnection } from '../primitives/red-lock/quorum-connection.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';
import { InProcessConnection } from './in-process-connection.js';

/** The kinds of locks that another process can hold, or permits of a semaphore. */
export type HeldKind = Hold['protocol']['kind'] &
  ('lock' | 'fair' | 'read' | 'write' | 'red' | 'semaphore');

/** The options of a holder in another process. */
export interface ElsewhereOptions {
  /** @default 'lock' */
  readonly kind?: HeldKind;
  /** The lease ends by itself after this time (ms). Omitted: it is renewed until it is released. */
  readonly leaseTimeMs?: number;
  /**
   * The number of permits of a semaphore.
   * @default all that are free
   */
  readonly permits?: number;
}

/** Another process on the servers of one connection, as far as the locks can tell. */
export class Elsewhere {
  readonly context: LockContext;
  readonly #connection: RedisConnection;

  constructor(of: LockContext, clock: Clock) {
    this.#connection = beside(of.connection, clock);
    const { name, keyPrefix, leaseTimeMs } = of.settings;
    this.context = new LockContext(this.#connection, { name, keyPrefix, leaseTimeMs }, clock);
  }

  /** @throws {LockTimeoutError} another owner holds it already */
  async hold(
    name: string,
    { kind = 'lock', leaseTimeMs, permits }: ElsewhereOptions,
  ): Promise<Lease> {
    const options = { waitTimeMs: 0, leaseTimeMs };
    if (kind !== 'semaphore') return this.#lockOf(kind, name).acquire(options);
    const semaphore = new SemaphoreService(this.context).get(name);
    const all = Math.max(1, await semaphore.availablePermits());
    return semaphore.acquire({ ...options, permits: permits ?? all });
  }

  #lockOf(kind: Exclude<HeldKind, 'semaphore'>, name: string): Lock {
    const { context } = this;
    switch (kind) {
      case 'lock':
        return new LockService(context).get(name);
      case 'fair':
        return new FairLockService(context).get(name);
      case 'read':
      case 'write':
        return new ReadWriteLockService(context).get(name)[kind];
      case 'red':
        return new RedLockService(context, this.#connection as QuorumConnection).get(name);
    }
  }
}

/** Another connection to the same servers. */
function beside(connection: RedisConnection, clock: Clock): RedisConnection {
  if (connection instanceof QuorumConnection) {
    const { nodes, longestLeaseMs } = connection;
    const others = nodes.map((node) => beside(node.connection, clock));
    return new QuorumConnection(others, { longestLeaseMs, clock });
  }
  return new InProcessConnection((connection as InProcessConnection).server);
}
