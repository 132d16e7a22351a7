import { REDIS, type Backend } from './backend.js';
import { LockFamily } from './lock-family.js';
import { readOptions, type RedisLockOptions } from './options.js';

/** The options of `openLocks`. */
export interface OpenLocksOptions extends RedisLockOptions {
  /**
   * The name of this connection in events, metrics and traces.
   * @default 'default'
   */
  readonly name?: string | undefined;
}

/**
 * Opens all locks on one Redis, without Nest: for scripts, workers and other frameworks. It
 * connects at once, in the background; calls wait for the connection. `close()`, or `await using`,
 * ends it.
 * @throws {LockConfigurationError} an option cannot be used
 * @example
 * await using locks = openLocks({ connection: 'redis://127.0.0.1:6379' });
 * await locks.lock.using('report', () => writeReport());
 */
export function openLocks(options: OpenLocksOptions = {}): LockFamily {
  return openFamily(options, REDIS);
}

/** As `openLocks`, on this backend. */
export function openFamily(options: OpenLocksOptions, backend: Backend): LockFamily {
  const family = new LockFamily(readOptions(options, 'openLocks()', ['name']), backend);
  family.open();
  // Every call of a red lock rejects for the same reason.
  family.openRedLock().catch(() => undefined);
  return family;
}
