import { resolveAcquireOptions } from '../../libs/redis-lock/src/core/api/resolve-options.js';
import { Hold } from '../../libs/redis-lock/src/core/holding/hold.js';
import type { HoldProtocol } from '../../libs/redis-lock/src/core/holding/protocol.js';
import type { RedisConnection } from '../../libs/redis-lock/src/core/redis/connection.js';
import { Session } from '../../libs/redis-lock/src/core/session.js';

/** A connection on which nothing is heard; a spec that needs more of it gives that. */
export function fakeConnection(given: Partial<RedisConnection> = {}): RedisConnection {
  const silent = { listen: () => () => undefined, onUp: () => () => undefined };
  return { ...silent, ...given } as RedisConnection;
}

/** A hold before its grant. */
export function fakeHold(
  key = 'a',
  session = new Session(fakeConnection()),
  protocol: Partial<HoldProtocol> = {},
): Hold {
  const options = resolveAcquireOptions(undefined, session.settings, 0);
  return new Hold(session, protocol as HoldProtocol, key, `owner:${key}`, options);
}
