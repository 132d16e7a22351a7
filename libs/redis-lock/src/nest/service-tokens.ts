import { Inject, type InjectionToken, type Type } from '@nestjs/common';

import type { LockContext } from '../core/lock-context.js';
import { LockMonitor } from '../core/monitor.js';
import { DEFAULT_NAME } from '../core/api/options.js';
import { LatchService } from '../primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../primitives/fencing-guard/fencing-guard.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';

/** The call that makes the module of a connection, for messages. */
export function forRootOf(connection: string): string {
  const name = connection === DEFAULT_NAME ? '' : `{ name: '${connection}' }`;
  return `RedisLockModule.forRoot(${name})`;
}

/**
 * Nest's token of a service of the connection. The token of the default connection is the class
 * itself.
 */
export type ServiceToken<S> = (connection?: string) => InjectionToken<S>;

/** @param name as in the source: minified code changes the name of the class */
function tokensOf<S>(Service: Type<S>, name: string): ServiceToken<S> {
  return (connection = DEFAULT_NAME) =>
    // The text is the hint in Nest's own message when there is no such connection.
    connection === DEFAULT_NAME ? Service : Symbol.for(`${name} of ${forRootOf(connection)}`);
}

/** The token of a connection's `LockService`: `getLockServiceToken('cache')`. */
export const getLockServiceToken = tokensOf(LockService, 'LockService');
/** The token of a connection's `FairLockService`: `getFairLockServiceToken('cache')`. */
export const getFairLockServiceToken = tokensOf(FairLockService, 'FairLockService');
/** The token of a connection's `ReadWriteLockService`: `getReadWriteLockServiceToken('cache')`. */
export const getReadWriteLockServiceToken = tokensOf(ReadWriteLockService, 'ReadWriteLockService');
/** The token of a connection's `SemaphoreService`: `getSemaphoreServiceToken('cache')`. */
export const getSemaphoreServiceToken = tokensOf(SemaphoreService, 'SemaphoreService');
/** The token of a connection's `LatchService`: `getLatchServiceToken('cache')`. */
export const getLatchServiceToken = tokensOf(LatchService, 'LatchService');
/** The token of a connection's `RedLockService`: `getRedLockServiceToken('cache')`. */
export const getRedLockServiceToken = tokensOf(RedLockService, 'RedLockService');
/** The token of a connection's `FencingGuard`: `getFencingGuardToken('cache')`. */
export const getFencingGuardToken = tokensOf(FencingGuard, 'FencingGuard');
/** The token of a connection's `LockMonitor`: `getLockMonitorToken('cache')`. */
export const getLockMonitorToken = tokensOf(LockMonitor, 'LockMonitor');

/** The services that an application injects; each needs the context only. */
export const SERVICES = [
  [LockService, getLockServiceToken],
  [FairLockService, getFairLockServiceToken],
  [ReadWriteLockService, getReadWriteLockServiceToken],
  [SemaphoreService, getSemaphoreServiceToken],
  [LatchService, getLatchServiceToken],
  [FencingGuard, getFencingGuardToken],
] as const;

/** The token of the context that all services of a connection share, for the subpaths of this package. */
export const getLockContextToken: ServiceToken<LockContext> = (connection = DEFAULT_NAME) =>
  Symbol.for(`nestjs-redis-lock:context of ${forRootOf(connection)}`);

/** Marks a parameter or property that takes the service of the connection of this name. */
export type InjectService = (connection?: string) => PropertyDecorator & ParameterDecorator;

const injects =
  (tokenOf: ServiceToken<unknown>): InjectService =>
  (connection) =>
    Inject(tokenOf(connection));

/** Injects a connection's `LockService`: `@InjectLockService('cache')`. */
export const InjectLockService = injects(getLockServiceToken);
/** Injects a connection's `FairLockService`: `@InjectFairLockService('cache')`. */
export const InjectFairLockService = injects(getFairLockServiceToken);
/** Injects a connection's `ReadWriteLockService`: `@InjectReadWriteLockService('cache')`. */
export const InjectReadWriteLockService = injects(getReadWriteLockServiceToken);
/** Injects a connection's `SemaphoreService`: `@InjectSemaphoreService('cache')`. */
export const InjectSemaphoreService = injects(getSemaphoreServiceToken);
/** Injects a connection's `LatchService`: `@InjectLatchService('cache')`. */
export const InjectLatchService = injects(getLatchServiceToken);
/** Injects a connection's `RedLockService`: `@InjectRedLockService('cache')`. */
export const InjectRedLockService = injects(getRedLockServiceToken);
/** Injects a connection's `FencingGuard`: `@InjectFencingGuard('cache')`. */
export const InjectFencingGuard = injects(getFencingGuardToken);
/** Injects a connection's `LockMonitor`: `@InjectLockMonitor('cache')`. */
export const InjectLockMonitor = injects(getLockMonitorToken);
