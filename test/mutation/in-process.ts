/** The specs find these in place of the servers that they ask for: nothing is real here. */
export * from '../support/redis-server.js';
export { useRedis as useRealRedis } from '../support/redis-server.js';
