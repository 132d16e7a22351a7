import { readFileSync } from 'node:fs';
import type { Redis, RedisOptions } from 'ioredis';

import type { Client } from '../connection/client.js';
import { LockConfigurationError } from '../core/api/errors.js';
import { chooseClient, clientOf } from './choose-client.js';
import { DISCONNECT_MS } from './ioredis-node.js';
import { installedPackage } from './packages.js';

const CONNECT_MS = 3_000;
const COMMAND_MS = 2_000;

/** The servers that the command line names. */
export interface Target {
  readonly urls: readonly string[];
  readonly isCluster: boolean;
  /** The name of the master, if the urls are those of its sentinels. */
  readonly sentinel: string | undefined;
  /** The file of a certificate authority. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** A single server, the present master of sentinels, or a Cluster. */
export interface Server {
  readonly name: string;
  readonly client: Client;
  /** The keyPrefix of ioredis in the url, which this file removes. */
  readonly refusedPrefix: string | undefined;
  /** Another client, with the check that ioredis makes by default. */
  checked(): Client;
}

/**
 * Creates the clients, and connects none.
 * @throws {LockConfigurationError} the locks could not use them
 */
export function serversOf(target: Target): Server[] {
  const { urls } = target;
  for (const url of urls) {
    // Without its options, which are checked below.
    chooseClient(url.replace(/\?.*$/s, ''));
    if (target.ca !== undefined && !url.startsWith('rediss:')) {
      throw new LockConfigurationError('--ca needs a url that begins with rediss://');
    }
  }
  if (target.isCluster) return [clusterOf(target)];
  if (target.sentinel !== undefined) return [masterOf(target, target.sentinel)];
  return urls.map((url) => serverOf(url, target));
}

/** One attempt, with a time limit for every step. */
function quick({ username, password }: Target) {
  return {
    ...{ lazyConnect: true, enableReadyCheck: false, maxRetriesPerRequest: 0 },
    disableClientInfo: true,
    ...{ connectTimeout: CONNECT_MS, commandTimeout: COMMAND_MS, disconnectTimeout: DISCONNECT_MS },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    replyMapping: 'legacy' as const,
    retryStrategy: () => null,
  };
}

function serverOf(url: string, target: Target): Server {
  // The url wins.
  const client = new (installedPackage().Redis)(url, { ...quick(target), ...tlsOf(target, url) });
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
    redisOptions: { ...quick(target), ...credentialsOf(first), ...tlsOf(target, first) },
  });
  const checked = () => {
    const enableReadyCheck = true;
    const replyMapping = 'legacy' as const;
    const redisOptions = { ...client.options.redisOptions, enableReadyCheck, replyMapping };
    return clientOf(client.duplicate([], { enableReadyCheck, redisOptions }));
  };
  const name = nodes.map(named).join(',');
  return { name, client: clientOf(client), refusedPrefix: undefined, checked };
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
    ...tlsOf(target, first),
    ...(first.startsWith('rediss:') && { enableTLSForSentinelMode: true }),
  });
  const at = `${name}@${sentinels.map(named).join(',')}`;
  return over(at, client);
}

function over(name: string, client: Redis, refusedPrefix?: string): Server {
  const checked = () => clientOf(client.duplicate({ enableReadyCheck: true }));
  return { name, client: clientOf(client), refusedPrefix, checked };
}

function named({ host, port }: { host: string; port: number }): string {
  return `${host}:${String(port)}`;
}

function addressOf(url: string): { host: string; port: number } {
  if (url.startsWith('/')) {
    throw new LockConfigurationError('a Cluster and sentinels need urls, not the path of a socket');
  }
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
}

function credentialsOf(url: string): { username?: string; password?: string } {
  const { username, password } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}

function tlsOf({ ca }: Target, url: string): Pick<RedisOptions, 'tls'> {
  if (!url.startsWith('rediss:')) return {};
  return { tls: ca === undefined ? {} : { ca: read(ca) } };
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new LockConfigurationError(`--ca cannot be read: ${(error as Error).message}`);
  }
}
