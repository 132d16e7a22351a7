import { Inject } from '@nestjs/common';

import { LockConfigurationError } from '../core/errors.js';
import { LockService } from '../primitives/reentrant-lock/lock-service.js';

/** Its text is the hint in Nest's own message when the module is missing. */
const HOST = Symbol.for('RedisLockModule.forRoot() for @WithLock');

/** Not on the instances: those may be frozen, compared or serialised. */
const services = new WeakMap<object, LockService>();

/**
 * Lets Nest inject the lock service into every instance of the class, whatever its scope. Without
 * the module the application does not start.
 */
export function installHost(target: object): void {
  // A base class did it, and its injection is inherited.
  if (HOST in target) return;
  Object.defineProperty(target, HOST, {
    configurable: true,
    get(this: object) {
      return services.get(this);
    },
    set(this: object, service: LockService) {
      services.set(this, service);
    },
  });
  Inject(LockService)(target, HOST);
}

/**
 * The service of the application that made this object.
 * @throws {LockConfigurationError} Nest did not make it
 */
export function lockServiceOf(instance: unknown, where: string): LockService {
  const service = (instance as { readonly [HOST]?: LockService } | null | undefined)?.[HOST];
  if (service !== undefined) return service;
  throw new LockConfigurationError(
    `${where} was called on an object into which Nest has injected nothing: one made with new, by ` +
      'useFactory or useValue, still in its constructor, or lost with its method. Let Nest make ' +
      'the object (useClass), or call LockService.using(name, work) instead',
  );
}
