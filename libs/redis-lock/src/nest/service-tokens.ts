import { Inject, type InjectionToken, type Type } from '@nestjs/common';

import type { LockContext } from '../core/lock-context.js';
import type { LockFamily } from '../family/lock-family.js';
import { LockMonitor } from '../primitives/monitor/lock-monitor.js';
import { DEFAULT_NAME, isConnectionName, unusableName } from '../core/api/settings.js';
import { LatchService } from '../primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../primitives/fencing-guard/fencing-guard.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';
import { refuse, refuseValue } from '../core/api/refuse.js';

/** The call that makes the module of a connection, for messages. */
export function forRootOf(connection: string): string {
  const name = connection === DEFAULT_NAME ? '' : `{ name: '${connection}' }`;
  return `RedisLockModule.forRoot(${name})`;
}

/** The services that an application injects, and their places in a family. */
export const SERVICES = [
  [LockService, ({ lock }) => lock, 'LockService'],
  [FairLockService, ({ fair }) => fair, 'FairLockService'],
  [ReadWriteLockService, ({ readWrite }) => readWrite, 'ReadWriteLockService'],
  [SemaphoreService, ({ semaphore }) => semaphore, 'SemaphoreService'],
  [LatchService, ({ latch }) => latch, 'LatchService'],
  [RedLockService, ({ red }) => red, 'RedLockService'],
  [FencingGuard, ({ fencing }) => fencing, 'FencingGuard'],
  [LockMonitor, ({ monitor }) => monitor, 'LockMonitor'],
] as const satisfies [Type<unknown>, (family: LockFamily) => unknown, name: string][];

/** By their names in the source: minified code changes the name of a class. */
const NAMES = new Map<unknown, string>(SERVICES.map(([Service, , name]) => [Service, name]));

/**
 * Nest's token of a service of the connection, for factories and tests:
 * `app.get(getLockServiceToken(LockService, 'cache'))`. On the default connection it is the class itself.
 * @throws {LockConfigurationError} the class is no service of this library, or the name cannot be used
 */
export function getLockServiceToken<S>(
  Service: Type<S>,
  connection: string = DEFAULT_NAME,
): InjectionToken<S> {
  const from = 'getLockServiceToken()';
  const name = NAMES.get(Service);
  if (name === undefined) {
    refuseValue(from, 'the first argument', `one of ${[...NAMES.values()].join(', ')}`, Service);
  }
  if (!isConnectionName(connection)) refuse(from, unusableName(connection));
  // Nest's own message shows this text when there is no such connection.
  return connection === DEFAULT_NAME ? Service : Symbol.for(`${name} of ${forRootOf(connection)}`);
}

/**
 * Marks a parameter or property that takes a service of the connection of this name:
 * `@InjectLockService(FairLockService, 'cache') locks: FairLockService`.
 * @throws {LockConfigurationError} the class is no service of this library, or the name cannot be used
 */
export function InjectLockService(
  Service: Type<unknown>,
  connection?: string,
): PropertyDecorator & ParameterDecorator {
  return Inject(getLockServiceToken(Service, connection));
}

/** The token of the context that all services of a connection share, for the subpaths of this package. */
export function getLockContextToken(connection = DEFAULT_NAME): InjectionToken<LockContext> {
  return Symbol.for(`nestjs-redis-lock:context of ${forRootOf(connection)}`);
}
