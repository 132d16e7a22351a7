import * as six from 'redis';
import * as five from 'redis-5';

import type { NodeRedisClient } from '../../libs/redis-lock/src/node-redis.js';

/** The specs use this part of node-redis, alike in both. */
export interface NodeRedis {
  createClient(options: object): NodeRedisClient;
  createCluster(options: object): NodeRedisClient;
  createSentinel(options: object): NodeRedisClient;
}

/** An application may have one of these installed. */
export const NODE_REDIS_VERSIONS: [string, NodeRedis][] = [
  ['node-redis 6', six],
  ['node-redis 5', five],
];
