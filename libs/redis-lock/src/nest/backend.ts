import { systemClock, type Clock } from '../core/time/clock.js';
import { LockContext } from '../core/lock-context.js';
import type { LockObserver } from '../core/api/observer.js';
import type { LockSettings } from '../core/api/options.js';
import type { RedisConnection } from '../core/redis/connection.js';

/** A connection that can be told when to connect. */
export type BackendConnection = RedisConnection & {
  open(): void;
  readonly topology: 'server' | 'sentinel' | 'cluster';
};

/** What is behind the locks of an application: Redis, or in a test what takes its place. */
export interface Backend {
  readonly clock: Clock;
  /**
   * Opens nothing yet: were it open while another provider fails, nobody could close it.
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
