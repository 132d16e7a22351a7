import { chooseClient } from '../../libs/redis-lock/src/ioredis/choose-client.js';
import {
  connectionOver,
  type ClientConnection,
} from '../../libs/redis-lock/src/connection/client-connection.js';
import { overClient } from './client.js';

type Rest<All extends unknown[]> = All extends [unknown, ...infer Others] ? Others : never;
type Open = [connection: unknown, ...rest: Rest<Parameters<typeof connectionOver>>];

/** A connection of the library. It opens for its first script. */
export function prepareConnection(...[connection, ...rest]: Open): ClientConnection {
  return connectionOver(chooseClient(connection), ...rest);
}

export function openConnection(...all: Open): ClientConnection {
  const prepared = prepareConnection(...all);
  prepared.open();
  return prepared;
}

/** Over the client of this run. */
export function openOverClient(...[connection, ...rest]: Open): ClientConnection {
  return openConnection(overClient(connection), ...rest);
}
