import { LockContext } from '../core/lock-context.js';
import type { LockObserver } from '../core/api/observer.js';
import type { LockSettings } from '../core/api/settings.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { systemClock, type Clock } from '../core/time/clock.js';
import { prepareIoredisConnection } from '../ioredis/ioredis-connection.js';

/** A connection that opens on demand. */
export type BackendConnection = RedisConnection & {
  open(): void;
  readonly topology: 'server' | 'sentinel' | 'cluster';
};

/** The server behind the locks: Redis, or its replacement in a test. */
export interface Backend {
  readonly clock: Clock;
  /**
   * Opens nothing yet: if another provider failed now, an open connection would never be closed.
   * @throws {LockConfigurationError} the target is not a connection
   */
  connect(
    target: unknown,
    observer: LockObserver,
    publish?: LockSettings['publish'],
  ): BackendConnection;
  context(connection: RedisConnection, settings: Partial<LockSettings>): LockContext;
}

export const REDIS: Backend = {
  clock: systemClock,
  connect: prepareIoredisConnection,
  context: (connection, settings) => new LockContext(connection, settings),
};
