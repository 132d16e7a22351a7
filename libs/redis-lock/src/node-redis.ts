export { nodeRedis, type NodeRedisClient, type NodeRedisOptions } from './node-redis/node-redis.js';
export type { BroughtClient } from './connection/brought-client.js';
