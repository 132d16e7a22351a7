import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as ioredis from 'ioredis';

import { LockConfigurationError } from '../core/api/errors.js';

/** ioredis, or iovalkey, which is a copy of ioredis 5. */
export type Package = Pick<typeof ioredis, 'Redis' | 'Cluster' | 'Command' | 'Pipeline'>;

/** The first that is installed opens urls. */
const NAMES = ['ioredis', 'iovalkey'] as const;

/** A bundle has no place of its own, or one that was left behind: it finds packages where it runs. */
const places = () => [import.meta.url as string | undefined, join(process.cwd(), 'bundle.js')];

/**
 * The package for clients of this library's own.
 * @throws {LockConfigurationError} none is installed
 */
export function installedPackage(): Package {
  const [first] = installed();
  if (first !== undefined) return first;
  throw new LockConfigurationError(
    'A url and options need ioredis, which is not installed: run npm install ioredis (or iovalkey). ' +
      'Or set connection to a client that you have',
  );
}

/** The package that has made this client; undefined if it is another copy. */
export function packageOf(client: unknown): Package | undefined {
  for (const one of installed()) if (client instanceof one.Redis) return one;
  return undefined;
}

function* installed(): Generator<Package> {
  for (const name of NAMES) {
    const found = packageNamed(name);
    if (found !== undefined) yield found;
  }
}

function packageNamed(name: string): Package | undefined {
  for (const place of places()) {
    try {
      if (place !== undefined) return createRequire(place)(name) as Package;
    } catch (error) {
      // The package may be there, and lack one of its own.
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) throw error;
    }
  }
  return undefined;
}
