import { installedOf } from '../connection/load-package.js';
import { LockConfigurationError } from '../core/api/errors.js';
import type { RedisCluster } from './cluster-map.js';
import type { RedisClient } from './own-client.js';
import type { RedisSentinel } from './sentinel-place.js';

interface Package {
  createClient(options: object): RedisClient;
  createCluster(options: object): RedisCluster;
  createSentinel(options: object): RedisSentinel;
}

/** `redis` is made of `@redis/client`, which other packages bring alone. */
const NAMES = ['redis', '@redis/client'] as const;

/**
 * node-redis, for clients of this library's own.
 * @throws {LockConfigurationError} it is not installed
 */
export function installedPackage(): Package {
  const found = firstInstalled();
  if (found !== undefined) return found;
  throw new LockConfigurationError(
    'nodeRedis() with options needs node-redis 5.12 or newer, which is not installed: run npm install redis',
  );
}

export function isInstalled(): boolean {
  return firstInstalled() !== undefined;
}

function firstInstalled(): Package | undefined {
  const [first] = installedOf<Package>(NAMES, 'createSentinel');
  return first;
}
