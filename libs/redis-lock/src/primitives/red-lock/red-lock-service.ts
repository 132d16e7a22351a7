import { LockConfigurationError } from '../../core/api/errors.js';
import { tokenTtlMs } from '../lua/fencing-token.js';
import type { LockContext } from '../../core/lock-context.js';
import { NamedLocks } from '../../core/named-locks.js';
import type { QuorumConnection } from './quorum-connection.js';
import { RedLockProtocol } from './red-lock-protocol.js';

/**
 * Locks on several independent Redis servers: one holder at a time, while a majority of the servers
 * answers. If the resource can check a token, fencing on one server is safer.
 */
export class RedLockService extends NamedLocks {
  /**
   * @internal
   * @param context of this service alone, on this connection
   * @throws {LockConfigurationError} its lease is longer than `longestLeaseMs` of the nodes
   */
  constructor(context: LockContext, connection: QuorumConnection) {
    const { settings, random } = context;
    const { watchdogLeaseMs } = settings;
    const { longestLeaseMs } = connection;
    if (watchdogLeaseMs > longestLeaseMs) {
      throw new LockConfigurationError(
        `redLock.longestLeaseMs must be at least watchdogLeaseMs, ${String(watchdogLeaseMs)}, not ${String(longestLeaseMs)}`,
      );
    }
    super(context, new RedLockProtocol(connection, tokenTtlMs(settings), random));
  }
}
