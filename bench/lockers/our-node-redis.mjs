import { nodeRedis } from '../../libs/redis-lock/dist/esm/node-redis.js';
import { HOST } from '../terms.mjs';
import { lockerOver } from './ours.mjs';

export const label = 'nestjs-redis-lock, node-redis';

/**
 * The library over node-redis 6.
 * @param {import('../terms.mjs').Terms} terms
 */
export async function create({ port, leaseMs }) {
  return lockerOver(nodeRedis({ url: `redis://${HOST}:${port}` }), leaseMs);
}
