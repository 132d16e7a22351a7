import { Inject } from '@nestjs/common';

import { LockConfigurationError } from '../core/errors.js';
import { LockService } from '../primitives/reentrant-lock/lock-service.js';
import { SERVICE_OF, type KindService, type LockKind, type LockServices } from './lock-kinds.js';

/** Their texts are the hints in Nest's own message when the module is missing. */
const HOST = Symbol.for('RedisLockModule.forRoot() for @WithLock');
const hostOf = (kind: LockKind) => Symbol.for(`RedisLockModule.forRoot() for @WithLock: ${kind}`);

/** Not on the instances: those may be frozen, compared or serialised. */
const services = new WeakMap<object, Map<symbol, unknown>>();

/**
 * Lets Nest inject what the kind needs into every instance of the class, whatever its scope. Without
 * the module the application does not start.
 */
export function installHost(target: object, kind: LockKind): void {
  inject(target, HOST, LockService);
  const service = SERVICE_OF[kind];
  if (service !== undefined) inject(target, hostOf(kind), service);
}

function inject(target: object, host: symbol, service: unknown): void {
  // A base class did it, and its injection is inherited.
  if (host in target) return;
  Object.defineProperty(target, host, {
    configurable: true,
    get(this: object) {
      return services.get(this)?.get(host);
    },
    set(this: object, injected: unknown) {
      const all = services.get(this) ?? new Map<symbol, unknown>();
      services.set(this, all.set(host, injected));
    },
  });
  Inject(service as typeof LockService)(target, host);
}

/**
 * The services of the application that made this object.
 * @throws {LockConfigurationError} Nest did not make it
 */
export function lockServicesOf(instance: unknown, where: string): LockServices {
  const host = instance as Readonly<Record<symbol, unknown>> | null | undefined;
  const locks = host?.[HOST] as LockService | undefined;
  if (locks !== undefined) {
    return { locks, ofKind: (kind) => host?.[hostOf(kind)] as KindService | undefined };
  }
  throw new LockConfigurationError(
    `${where} was called on an object into which Nest has injected nothing: one made with new, by ` +
      'useFactory or useValue, still in its constructor, or lost with its method. Let Nest make ' +
      'the object (useClass), or call LockService.using(name, work) instead',
  );
}
