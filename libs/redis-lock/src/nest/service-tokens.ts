import { Inject, type InjectionToken, type Type } from '@nestjs/common';

import { DEFAULT_NAME } from '../core/options.js';
import { LatchService } from '../primitives/count-down-latch/latch-service.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { FencingGuard } from '../primitives/fencing-guard/fencing-guard.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { LockService } from '../primitives/reentrant-lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';

/** How the module of a connection is made, for messages. */
export function forRootOf(connection: string): string {
  const name = connection === DEFAULT_NAME ? '' : `{ name: '${connection}' }`;
  return `RedisLockModule.forRoot(${name})`;
}

/** By which Nest finds a service of the connection: of the default one, it is the class itself. */
export type ServiceToken<S> = (connection?: string) => InjectionToken<S>;

/** @param name as in the source: that of the class is another one in minified code */
function tokensOf<S>(Service: Type<S>, name: string): ServiceToken<S> {
  return (connection = DEFAULT_NAME) =>
    // Its text is the hint in Nest's own message when there is no such connection.
    connection === DEFAULT_NAME ? Service : Symbol.for(`${name} of ${forRootOf(connection)}`);
}

export const getLockServiceToken = tokensOf(LockService, 'LockService');
export const getFairLockServiceToken = tokensOf(FairLockService, 'FairLockService');
export const getReadWriteLockServiceToken = tokensOf(ReadWriteLockService, 'ReadWriteLockService');
export const getSemaphoreServiceToken = tokensOf(SemaphoreService, 'SemaphoreService');
export const getLatchServiceToken = tokensOf(LatchService, 'LatchService');
export const getRedLockServiceToken = tokensOf(RedLockService, 'RedLockService');
export const getFencingGuardToken = tokensOf(FencingGuard, 'FencingGuard');

/** Marks a parameter or property that takes the service of the connection of this name. */
export type InjectService = (connection?: string) => PropertyDecorator & ParameterDecorator;

const injects =
  (tokenOf: ServiceToken<unknown>): InjectService =>
  (connection) =>
    Inject(tokenOf(connection));

export const InjectLockService = injects(getLockServiceToken);
export const InjectFairLockService = injects(getFairLockServiceToken);
export const InjectReadWriteLockService = injects(getReadWriteLockServiceToken);
export const InjectSemaphoreService = injects(getSemaphoreServiceToken);
export const InjectLatchService = injects(getLatchServiceToken);
export const InjectRedLockService = injects(getRedLockServiceToken);
export const InjectFencingGuard = injects(getFencingGuardToken);
