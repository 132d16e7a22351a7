import type { Cluster, Redis, RedisOptions } from 'ioredis';

import { broughtChoice, type BroughtClient } from '../connection/brought-client.js';
import { reconnectDelayMs, type Client, type ClientChoice } from '../connection/client.js';
import { describeValue, LockConfigurationError } from '../core/api/errors.js';
import { hasMethods, isPlainObject } from '../core/api/shapes.js';
import { optionsProblem, problemOfValue, urlProblem } from './connection-options.js';
import { IoredisCluster } from './ioredis-cluster.js';
import { DISCONNECT_MS, nodeOf } from './ioredis-node.js';
import { installedPackage } from './packages.js';

/** A `Redis` or `Cluster` of iovalkey, by its shape: not every application has its types. */
export interface IovalkeyClient {
  readonly status: string;
  readonly options: object;
  evalsha(...words: unknown[]): Promise<unknown>;
  duplicate(...options: never[]): unknown;
}

/** A url, ioredis options (Sentinel's included), or a client of the caller. */
export type ConnectionOption =
  string | RedisOptions | Redis | Cluster | IovalkeyClient | BroughtClient;

/** The same for one server that stands alone. */
export type NodeOption = Exclude<ConnectionOption, Cluster>;

export const DEFAULT_URL = 'redis://127.0.0.1:6379';

const OUR_DEFAULTS = {
  lazyConnect: true,
  retryStrategy: reconnectDelayMs,
  connectTimeout: 3_000,
  // ioredis would wait without a limit for a silent sentinel.
  sentinelCommandTimeout: 3_000,
  disconnectTimeout: DISCONNECT_MS,
  // From Redis 7.2 on this needs a right of its own.
  disableClientInfo: true,
} satisfies RedisOptions;

/**
 * Opens a client, or uses the caller's.
 * @throws {LockConfigurationError} it is no ioredis client, or locks cannot work with it
 */
export function chooseClient(connection: unknown): ClientChoice {
  const choice = broughtChoice(connection);
  if (choice !== undefined) return choice;
  if (isClient(connection)) {
    refuseState(connection);
    refuseUnusable(optionsOf(connection), isCluster(connection));
    return { client: clientOf(connection), isOurs: false };
  }
  if (typeof connection === 'string') {
    refuseUrl(connection);
    // ioredis reads options from the query of a url.
    const [, query] = connection.split('?', 2);
    refuseUnusable(Object.fromEntries(new URLSearchParams(query)), false);
    const { Redis } = installedPackage();
    return { client: nodeOf(new Redis(connection, OUR_DEFAULTS)), isOurs: true };
  }
  if (!isOptions(connection)) throw new LockConfigurationError(whatIsWrong(connection));
  refuse('connection', optionsProblem(connection));
  refuseUnusable(connection, false);
  const { Redis } = installedPackage();
  const client = new Redis({
    ...OUR_DEFAULTS,
    ...connection,
    lazyConnect: true,
    replyMapping: 'legacy',
  });
  return { client: nodeOf(client), isOurs: true };
}

export function clientOf(client: Redis | Cluster): Client {
  return isCluster(client) ? new IoredisCluster(client) : nodeOf(client);
}

function isCluster(client: Redis | Cluster): client is Cluster {
  return 'slots' in client && 'nodes' in client;
}

/** By shape: an application often has two copies of ioredis. */
function isClient(value: unknown): value is Redis | Cluster {
  if (!hasMethods(value, 'evalsha', 'duplicate')) return false;
  const { status, options } = value as Partial<Redis>;
  return typeof status === 'string' && typeof options === 'object';
}

function optionsOf(client: Redis | Cluster): RedisOptions {
  const { options } = client;
  return { ...('redisOptions' in options && options.redisOptions), ...(options as RedisOptions) };
}

function refuseUnusable(options: RedisOptions, isOfCluster: boolean): void {
  const which = isOfCluster ? 'cluster client' : 'connection';
  refuse(which, unusable(options));
  if (isOfCluster && (options.db ?? 0) !== 0) {
    refuse(which, 'a Cluster has only database 0; remove its db');
  }
}

/** Refuses a client of the caller for its state or its use. */
function refuseState(client: Redis | Cluster): void {
  const { mode, options } = client as Partial<Redis>;
  if (mode === undefined && options !== undefined && 'maxScriptsCachingTime' in options) {
    refuse('client', 'it is from ioredis 4; install ioredis 5 or 6');
  }
  if (mode === 'subscriber') {
    refuse(
      'client',
      'it is subscribed to channels, and takes no other command; use a separate client for the locks',
    );
  }
}

function refuse(which: string, problem: string | undefined): void {
  if (problem === undefined) return;
  throw new LockConfigurationError(`The ioredis ${which} cannot be used for locks: ${problem}`);
}

function unusable(options: RedisOptions): string | undefined {
  if (options.keyPrefix !== undefined && options.keyPrefix !== '') {
    return 'its keyPrefix changes the keys but not the channels; remove it and set keyPrefix of the locks';
  }
  if (options.autoResendUnfulfilledCommands === false) {
    return 'autoResendUnfulfilledCommands: false leaves commands pending after a cut; remove it: lock commands may safely be sent again';
  }
  const problem = problemOfValue('db', options.db);
  if (problem !== undefined) return problem;
  // As ioredis takes it: the query of a url holds texts only.
  if (options.stringNumbers) {
    return 'its stringNumbers turns the numbers of scripts into texts; remove it';
  }
  if (options.monitor) return 'it only monitors; use a separate client for the locks';
  if (options.readOnly || options.role === 'slave') {
    return 'it reads from a replica, which cannot grant locks; connect to the master';
  }
  return undefined;
}

export function refuseUrl(url: string): void {
  const problem = urlProblem(url);
  if (problem === undefined) return;
  throw new LockConfigurationError(
    `connection must be a url that begins with redis:// or rediss://: ${problem}`,
  );
}

function whatIsWrong(value: unknown): string {
  const wanted =
    'connection must be a redis:// url, ioredis options, or a client of ioredis or iovalkey';
  if (value === undefined) {
    return `${wanted}, not undefined: is an environment variable missing? Leave connection out for ${DEFAULT_URL}`;
  }
  if (hasMethods(value, 'sendCommand')) {
    return `${wanted}; this looks like a client of another package, such as node-redis: pass nodeRedis(client) of nestjs-redis-lock/node-redis`;
  }
  return `${wanted}, not ${describeValue(value)}`;
}

function isOptions(value: unknown): value is RedisOptions {
  return isPlainObject(value) && !hasMethods(value, 'then') && !hasMethods(value, 'sendCommand');
}
