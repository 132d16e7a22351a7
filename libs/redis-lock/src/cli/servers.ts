import { LockConfigurationError } from '../core/api/errors.js';
import { refuseUrl } from '../ioredis/choose-client.js';
import { isInstalled } from '../ioredis/packages.js';
import { ioredisServers } from '../ioredis/cli-servers.js';
import type { Server, Target } from '../connection/cli-target.js';
import { isInstalled as isNodeRedisInstalled } from '../node-redis/packages.js';
import { nodeRedisServers } from '../node-redis/cli-servers.js';

/**
 * Creates the clients, and connects none: of ioredis, or of node-redis if only that is installed.
 * @throws {LockConfigurationError} the locks could not use them
 */
export function serversOf(target: Target): Server[] {
  for (const url of target.urls) {
    refuseUrl(url);
    if (target.ca !== undefined && !url.startsWith('rediss:')) {
      throw new LockConfigurationError('--ca needs a url that begins with rediss://');
    }
  }
  const isOnlyNodeRedis = !isInstalled() && isNodeRedisInstalled();
  return isOnlyNodeRedis ? nodeRedisServers(target) : ioredisServers(target);
}
