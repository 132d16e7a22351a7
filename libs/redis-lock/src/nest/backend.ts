import { systemClock, type Clock } from '../core/time/clock.js';
import { LockContext } from '../core/lock-context.js';
import type { LockObserver } from '../core/api/observer.js';
import type { LockSettings } from '../core/api/options.js';
import type { RedisConnection } from '../core/redis/connection.js';

/** A connection that opens on demand. */
export type BackendConnection = RedisConnection & {
  open(): void;
  readonly topology: 'server' | 'sentinel' | 'cluster';
};

/** The server behind the locks of an application: Redis, or its replacement in a test. */
export interface Backend {
  readonly clock: Clock;
  /**
   * Opens nothing yet: a connection that is open while another provider fails would never be
   * closed.
   * @throws {LockConfigurationError} the target, or the way to publish, is none
   */
  connect(target: unknown, observer: LockObserver, publish?: unknown): BackendConnection;
  context(connection: RedisConnection, settings: Partial<LockSettings>): LockContext;
}

/** One token for all modules of an application: a test replaces it once. */
export const BACKEND = Symbol.for('nestjs-redis-lock:backend');

/** @param connect to Redis */
export function redisBackend(connect: Backend['connect']): Backend {
  return {
    clock: systemClock,
    connect,
    context: (connection, settings) => new LockContext(connection, settings),
  };
}
