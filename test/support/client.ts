import type { ClusterOptions, RedisOptions } from 'ioredis';

import type { BroughtClient } from '../../libs/redis-lock/src/node-redis.js';
import type { NodeRedis } from './node-redis-versions.js';

/** The client over which the library reaches a server: `CLIENT=node-redis npx jest …`. */
const CLIENT = process.env.CLIENT ?? 'ioredis';
/** Specs of what ioredis alone does are skipped then. */
export const isOverNodeRedis = CLIENT !== 'ioredis';
export const isOfCaller = /-\d$/.test(CLIENT);

const { nodeRedis, created } = await adapter();

/** A `Cluster` of ioredis or iovalkey. */
interface Group {
  readonly startupNodes: readonly { host: string; port: number }[];
  readonly options: ClusterOptions;
}

/** A url, options for Sentinel or a Cluster of ioredis, as the client of this run takes it. */
export function overClient<Option>(connection: Option): Option | BroughtClient {
  if (!isOverNodeRedis) return connection;
  const { createClient, createCluster, createSentinel } = created;
  if (typeof connection === 'string') return nodeRedis(createClient({ url: connection }));
  const given: Partial<Group & RedisOptions> = connection ?? {};
  if (given.startupNodes !== undefined) {
    const rootNodes = given.startupNodes.map((socket) => ({ socket }));
    const { username, password } = (given as Group).options.redisOptions ?? {};
    return nodeRedis(createCluster({ rootNodes, defaults: { username, password } }));
  }
  const { sentinels, name } = given;
  if (!Array.isArray(sentinels)) return connection;
  const sentinel = createSentinel({ name, sentinelRootNodes: sentinels });
  // The library copies one of version 6, and cannot copy one of version 5.
  if (CLIENT === 'node-redis-5') {
    sentinel.connect().catch(() => undefined);
    opened.push(sentinel);
  }
  return nodeRedis(sentinel);
}

const opened: { destroy(): unknown }[] = [];
// Version 5 would go on to search, and to print. A worker, which has no such hook, ends with it.
const { afterEach } = globalThis as { afterEach?: (work: () => void) => void };
afterEach?.(() => {
  for (const sentinel of opened.splice(0)) sentinel.destroy();
});

/** Nothing of it is loaded for the other runs. `node-redis` is options, and the others are clients. */
async function adapter() {
  if (!isOverNodeRedis) return {} as never;
  const { nodeRedis } = await import('../../libs/redis-lock/src/node-redis.js');
  const { NODE_REDIS_VERSIONS } = await import('./node-redis-versions.js');
  const [six, five] = NODE_REDIS_VERSIONS.map(([, version]) => version);
  const same = (options: object) => options;
  const options = { createClient: same, createCluster: same, createSentinel: same };
  const found = { 'node-redis': options, 'node-redis-6': six, 'node-redis-5': five }[CLIENT];
  if (found === undefined) throw new Error(`CLIENT=${CLIENT} is none of the clients`);
  return { nodeRedis, created: found as NodeRedis };
}
