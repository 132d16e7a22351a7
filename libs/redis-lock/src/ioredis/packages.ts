import type * as ioredis from 'ioredis';

import { LockConfigurationError } from '../core/api/errors.js';
import { installedOf } from '../connection/load-package.js';

/** ioredis, or iovalkey, which is a copy of ioredis 5. */
export type Package = Pick<typeof ioredis, 'Redis' | 'Cluster' | 'Command' | 'Pipeline'>;

/** The first that is installed opens urls. */
const NAMES = ['ioredis', 'iovalkey'] as const;

/**
 * The package for clients of this library's own.
 * @throws {LockConfigurationError} none is installed
 */
export function installedPackage(): Package {
  const [first] = installed();
  if (first !== undefined) return first;
  throw new LockConfigurationError(
    'A url and options need ioredis 5.4.1 or newer, which is not installed: run npm install ioredis (or iovalkey). ' +
      'With node-redis, set connection to nodeRedis({ url })',
  );
}

export function isInstalled(): boolean {
  return installed().next().done !== true;
}

/** The package that has made this client; undefined if it is another copy. */
export function packageOf(client: unknown): Package | undefined {
  for (const one of installed()) if (client instanceof one.Redis) return one;
  return undefined;
}

function installed(): Generator<Package, void> {
  return installedOf<Package>(NAMES, 'Redis');
}
