import { Cluster, type RedisOptions } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { Cluster as ForksCluster } from 'iovalkey';

import { nodeRedis, type NodeRedisClient } from '../../libs/redis-lock/src/node-redis.js';
import { NODE_REDIS_VERSIONS, type NodeRedis } from './node-redis-versions.js';

/** The client over which the library reaches a server: `CLIENT=node-redis npx jest …`. */
const CLIENT = process.env.CLIENT ?? 'ioredis';
/** `node-redis` is options, and the others are clients as an application makes them. */
const [six, five] = NODE_REDIS_VERSIONS;
const VERSIONS: Readonly<Record<string, NodeRedis | undefined>> = {
  ...{ ioredis: undefined, 'node-redis': undefined },
  ...{ 'node-redis-6': six?.[1], 'node-redis-5': five?.[1] },
};

/** Specs of what ioredis alone does are skipped then. */
export const isOverNodeRedis = CLIENT !== 'ioredis';

/** A url, options for Sentinel or a Cluster of ioredis, as the client of this run takes it. */
export function overClient(connection: unknown): unknown {
  if (!(CLIENT in VERSIONS)) {
    throw new Error(`CLIENT=${CLIENT} is none of ${Object.keys(VERSIONS).join(', ')}`);
  }
  if (!isOverNodeRedis) return connection;
  const { createClient, createCluster, createSentinel } = VERSIONS[CLIENT] ?? OPTIONS;
  if (typeof connection === 'string') return nodeRedis(createClient({ url: connection }));
  if ([Cluster, Cluster5, ForksCluster].some((one) => connection instanceof one)) {
    const { startupNodes } = connection as { startupNodes: { host: string; port: number }[] };
    const rootNodes = startupNodes.map((socket) => ({ socket }));
    const { username, password } = (connection as Cluster).options.redisOptions ?? {};
    return nodeRedis(createCluster({ rootNodes, defaults: { username, password } }));
  }
  const { sentinels, name } = (connection ?? {}) as RedisOptions;
  if (!Array.isArray(sentinels)) return connection;
  const sentinel = createSentinel({ name, sentinelRootNodes: sentinels });
  // The library copies one of version 6, and cannot copy one of version 5.
  if (CLIENT === 'node-redis-5') (sentinel as NodeRedisClient).connect().catch(() => undefined);
  return nodeRedis(sentinel);
}

const same = (options: object) => options;
const OPTIONS = { createClient: same, createCluster: same, createSentinel: same };
