import { brought, type BroughtClient } from '../connection/brought-client.js';
import type { Client, Route } from '../connection/client.js';
import { LockConfigurationError } from '../core/api/errors.js';
import { hasMethods } from '../core/api/shapes.js';
import { ClusterMap, type RedisCluster } from './cluster-map.js';
import { NodeRedisCluster } from './node-redis-cluster.js';
import { NodeRedisNode } from './node-redis-node.js';
import { ONCE, type RedisClient } from './own-client.js';
import { installedPackage } from './packages.js';
import { refuseMistaken, refuseOthers, refuseUnusable, type Options } from './refusals.js';
import { OF_SENTINEL, quick, SentinelPlace, type RedisSentinel } from './sentinel-place.js';

/** A client of `createClient`, `createCluster` or `createSentinel`: 5 and 6 have other types. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  connect(): Promise<unknown>;
  destroy(): unknown;
  sendCommand(...words: never[]): Promise<unknown>;
}

/** The options of `createClient`, `createCluster` or `createSentinel`. */
export type NodeRedisOptions = object;

type Source = RedisClient | RedisCluster | RedisSentinel;

/**
 * Locks over node-redis: for the option `connection`, and for the nodes of a red lock. The locks
 * open connections of their own, to the same servers with the same user. They send nothing over a
 * client of yours, and never close it.
 * @param source a client, a cluster or a sentinel of yours, or the options of one
 * @throws {LockConfigurationError} locks cannot use it
 * @example
 * RedisLockModule.forRoot({ connection: nodeRedis(client) });
 */
export function nodeRedis(source: NodeRedisClient | NodeRedisOptions): BroughtClient {
  if (isClient(source)) {
    refuseUnusable(optionsOf(source));
    return brought(() => ({ client: ofCaller(source), isOurs: true }));
  }
  refuseOthers(source);
  refuseMistaken(source);
  refuseUnusable(source);
  return brought(() => {
    const made = created(source);
    return { client: over(made, { ...source, ...optionsOf(made) }, true), isOurs: true };
  });
}

/** A sentinel of the application may close before the locks do. Version 5 cannot copy one. */
function ofCaller(source: Source): Client {
  const copy = isSentinel(source) ? source.duplicate?.(OF_SENTINEL) : undefined;
  return over(copy ?? source, optionsOf(source), copy !== undefined);
}

function over(source: Source, options: Options, isOurs: boolean): Client {
  const route = routeOf(options);
  if (isCluster(source)) return new NodeRedisCluster(new ClusterMap(source), route);
  if (isSentinel(source)) return new NodeRedisNode(new SentinelPlace(source, route, isOurs));
  const known = { client: source };
  return new NodeRedisNode({ topology: 'server', route, known, find: () => known });
}

/** It never connects. node-redis writes into the options that it gets. */
function created(options: Options): Source {
  const redis = installedPackage();
  try {
    if (options.rootNodes !== undefined) return redis.createCluster({ ...options });
    if (options.sentinelRootNodes !== undefined) {
      const nodeClientOptions = quick(options.nodeClientOptions, ONCE);
      const sentinelClientOptions = quick(options.sentinelClientOptions);
      const ours = { nodeClientOptions, sentinelClientOptions, ...OF_SENTINEL };
      return redis.createSentinel({ ...options, ...ours });
    }
    return redis.createClient({ ...options, socket: { ...options.socket } });
  } catch (error) {
    // Its message may hold the url, with a password.
    throw new LockConfigurationError('nodeRedis(): node-redis refuses these options', {
      cause: new Error((error as Error).name),
    });
  }
}

function routeOf({ socket, rootNodes, sentinelRootNodes, ...options }: Options): Route {
  const { defaults, nodeClientOptions } = options;
  const roots = rootNodes?.map((node) => node.socket?.host ?? hostIn(node.url));
  const sentinels = sentinelRootNodes?.map(({ host = '' }) => host);
  const own = socket?.path === undefined ? [socket?.host ?? hostIn(options.url)] : [];
  const login = { ...options, ...defaults, ...nodeClientOptions };
  return {
    ...{ hosts: roots ?? sentinels ?? own, user: login.username ?? '' },
    hasPassword: Boolean(login.password ?? login.credentialsProvider),
    isEncrypted: (login.socket ?? socket)?.tls === true || /^rediss:/.test(login.url ?? ''),
  };
}

function hostIn(url = ''): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** A cluster has them, and a sentinel hides them. */
function optionsOf(source: object): Options {
  const { options, _options, _keyPrefix } = source as Record<string, unknown>;
  return { keyPrefix: _keyPrefix, ...(_options ?? options ?? {}) } as Options;
}

function isClient(source: unknown): source is Source {
  return (
    hasMethods(source, 'sendCommand', 'connect', 'destroy') &&
    (hasMethods(source, 'duplicate') || isSentinel(source))
  );
}

function isCluster(source: object): source is RedisCluster {
  return hasMethods(source, 'nodeClient');
}

function isSentinel(source: unknown): source is RedisSentinel {
  return hasMethods(source, 'getMasterNode');
}
