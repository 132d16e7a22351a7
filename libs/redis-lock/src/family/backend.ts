import { connectionOver } from '../connection/client-connection.js';
import { LockContext } from '../core/lock-context.js';
import type { LockObserver } from '../core/api/observer.js';
import type { LockSettings } from '../core/api/settings.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { systemClock, type Clock } from '../core/time/clock.js';
import { chooseClient } from '../ioredis/choose-client.js';

/** A connection that opens on demand. */
export type BackendConnection = RedisConnection & {
  open(): void;
  /**
   * Settles once a script could be sent, or not.
   * @throws {LockBackendError} there is no connection
   * @throws {LockConfigurationError} the server is not fit for locks
   */
  prepare?(): Promise<void> | undefined;
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
    onEviction?: LockSettings['onEviction'],
  ): BackendConnection;
  context(connection: RedisConnection, settings: Partial<LockSettings>): LockContext;
}

export const REDIS: Backend = {
  clock: systemClock,
  connect: (target, ...rest) => connectionOver(chooseClient(target), ...rest),
  context: (connection, settings) => new LockContext(connection, settings),
};
