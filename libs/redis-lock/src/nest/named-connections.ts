import type { Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

import { LockConfigurationError, quoteName } from '../core/api/errors.js';
import { DEFAULT_NAME } from '../core/api/settings.js';

/** One connection of an application. */
export interface NamedConnection {
  readonly name: string;
  /** The place of its set-up, as `file:line:column`. */
  readonly place: string;
}

export const NAMED_CONNECTION = Symbol.for('nestjs-redis-lock:named-connection');

/** The place at which the caller of this function was called. */
export function placeOfCaller(): string {
  const here: { stack?: string } = {};
  Error.captureStackTrace(here, placeOfCaller);
  const [, , frame = ''] = String(here.stack).split('\n');
  return /(?:\(|at )(?:async )?([^()]+:\d+:\d+)\)?$/.exec(frame)?.[1] ?? 'an unknown place';
}

/** All connections that the modules of this class have set up. */
export function connectionsOf(modules: ModulesContainer, module: Type): NamedConnection[] {
  return [...modules.values()]
    .filter(({ metatype }) => metatype === module)
    .map(({ providers }) => providers.get(NAMED_CONNECTION)?.instance as NamedConnection);
}

/**
 * Two connections of one name would be two owners with their own settings, which may both hold a
 * lock.
 * @throws {LockConfigurationError} the message names both places
 */
export function refuseSameName(connections: readonly NamedConnection[]): void {
  const seen = new Map<string, NamedConnection>();
  for (const connection of connections) {
    const { name, place } = connection;
    const other = seen.get(name);
    if (other === undefined) {
      seen.set(name, connection);
      continue;
    }
    const which = name === DEFAULT_NAME ? 'without a name' : `with the name ${quoteName(name)}`;
    throw new LockConfigurationError(
      `RedisLockModule is set up twice ${which}: in ${other.place} and in ${place}. ` +
        'Call forRoot() in the root module only, since it is global, or import one result of it ' +
        "everywhere. A second connection needs its own name: { name: 'cache' }",
    );
  }
}
