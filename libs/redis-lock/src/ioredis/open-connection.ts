import type { LockObserver } from '../core/api/observer.js';
import {
  connectionOver,
  type ClientConnection,
  type Surroundings,
} from '../connection/client-connection.js';
import type { PublishOption } from '../connection/publish-mode.js';
import { chooseClient } from './choose-client.js';

/**
 * Redis over a client of the caller, or over one of our own.
 * @param publish how releases are announced in a Cluster
 * @throws {LockConfigurationError} the client cannot be used for locks
 */
export function openConnection(
  connection: unknown,
  observer?: LockObserver,
  publish?: PublishOption,
): ClientConnection {
  const prepared = prepareConnection(connection, observer, publish);
  prepared.open();
  return prepared;
}

/** As `openConnection`, but nothing is opened before `open` or the first script. */
export function prepareConnection(
  connection: unknown,
  observer?: LockObserver,
  publish: PublishOption = 'auto',
  onEviction: 'warn' | 'refuse' = 'warn',
  surroundings?: Surroundings,
): ClientConnection {
  return connectionOver(chooseClient(connection), observer, publish, onEviction, surroundings);
}
