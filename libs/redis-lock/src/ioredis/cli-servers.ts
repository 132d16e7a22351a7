import type { Redis, RedisOptions } from 'ioredis';

import {
  addressOf,
  credentialsOf,
  listed,
  loginOf,
  tlsOf,
  type Server,
  type Target,
} from '../connection/cli-target.js';
import { chooseClient, clientOf } from './choose-client.js';
import { DISCONNECT_MS } from './ioredis-node.js';
import { installedPackage } from './packages.js';

const CONNECT_MS = 3_000;
const COMMAND_MS = 2_000;

/**
 * Creates the clients, and connects none.
 * @throws {LockConfigurationError} the locks could not use them
 */
export function ioredisServers(target: Target): Server[] {
  const { urls } = target;
  if (target.isCluster) return [clusterOf(target)];
  if (target.sentinel !== undefined) return [masterOf(target, target.sentinel)];
  return urls.map((url) => serverOf(url, target));
}

/** One attempt, with a time limit for every step. */
function quick(target: Target) {
  return {
    ...{ lazyConnect: true, enableReadyCheck: false, maxRetriesPerRequest: 0 },
    disableClientInfo: true,
    ...{ connectTimeout: CONNECT_MS, commandTimeout: COMMAND_MS, disconnectTimeout: DISCONNECT_MS },
    ...loginOf(target),
    replyMapping: 'legacy' as const,
    retryStrategy: () => null,
  };
}

function serverOf(url: string, target: Target): Server {
  // The url wins.
  const client = new (installedPackage().Redis)(url, { ...quick(target), ...withTls(target, url) });
  const { keyPrefix = '', host, port, path } = client.options;
  client.options.keyPrefix = '';
  chooseClient(client);
  const name = path ?? `${host ?? ''}:${String(port)}`;
  return over(name, client, keyPrefix === '' ? undefined : keyPrefix);
}

function clusterOf(target: Target): Server {
  const [first = ''] = target.urls;
  const nodes = target.urls.map(addressOf);
  const client = new (installedPackage().Cluster)(nodes, {
    ...{ lazyConnect: true, enableReadyCheck: false, slotsRefreshTimeout: COMMAND_MS },
    clusterRetryStrategy: () => null,
    // The certificate is for the name, and not for the address.
    ...(first.startsWith('rediss:') && {
      dnsLookup: (address: string, found: (error: null, address: string) => void) => {
        found(null, address);
      },
    }),
    redisOptions: { ...quick(target), ...credentialsOf(first), ...withTls(target, first) },
  });
  const checked = () => {
    const enableReadyCheck = true;
    const replyMapping = 'legacy' as const;
    const redisOptions = { ...client.options.redisOptions, enableReadyCheck, replyMapping };
    return clientOf(client.duplicate([], { enableReadyCheck, redisOptions }));
  };
  const server = { name: listed(nodes), client: clientOf(client) };
  return { ...server, refusedPrefix: undefined, checked };
}

/** The user and the password in a url of a sentinel are for that sentinel. */
function masterOf(target: Target, name: string): Server {
  const [first = ''] = target.urls;
  const { username, password } = credentialsOf(first);
  const sentinels = target.urls.map(addressOf);
  const client = new (installedPackage().Redis)({
    ...quick(target),
    ...{ sentinels, name, sentinelRetryStrategy: () => null },
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...withTls(target, first),
    ...(first.startsWith('rediss:') && { enableTLSForSentinelMode: true }),
  });
  const at = `${name}@${listed(sentinels)}`;
  return over(at, client);
}

function over(name: string, client: Redis, refusedPrefix?: string): Server {
  const checked = () => clientOf(client.duplicate({ enableReadyCheck: true }));
  return { name, client: clientOf(client), refusedPrefix, checked };
}

function withTls(target: Target, url: string): Pick<RedisOptions, 'tls'> {
  const tls = tlsOf(target, url);
  return tls === undefined ? {} : { tls };
}
