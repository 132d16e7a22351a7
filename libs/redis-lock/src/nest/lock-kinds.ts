import type { Type } from '@nestjs/common';

import type { Lease } from '../core/api/lease.js';
import type { Lock } from '../core/api/lock.js';
import type { LockKind } from '../core/api/observer.js';
import {
  LOCK_OPTIONS,
  REENTRANT_OPTIONS,
  PERMIT_OPTIONS,
  READ_OPTIONS,
  type AnyAcquireOptions,
} from '../core/api/options.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import { LockService } from '../primitives/lock/lock-service.js';
import type { Semaphore } from '../primitives/semaphore/semaphore.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';

/** The kinds of lock that a decorated method can acquire. */
export type MethodKind = Extract<LockKind, 'lock' | 'fair' | 'read' | 'write' | 'semaphore'>;

/** One name, or several names of one multi lock. */
export type LockNames = string | readonly string[];

/** The options of a call of each kind. */
export const OPTIONS_OF = {
  lock: REENTRANT_OPTIONS,
  fair: LOCK_OPTIONS,
  read: READ_OPTIONS,
  write: LOCK_OPTIONS,
  semaphore: PERMIT_OPTIONS,
} as const satisfies Record<MethodKind, readonly string[]>;

/** The service of a kind. */
export const SERVICE_OF = {
  lock: LockService,
  fair: FairLockService,
  read: ReadWriteLockService,
  write: ReadWriteLockService,
  semaphore: SemaphoreService,
} as const satisfies Record<MethodKind, Type<KindService>>;

export type KindService = LockService | FairLockService | ReadWriteLockService | SemaphoreService;

/** The services of an application for its decorated methods. */
export interface LockServices {
  readonly locks: LockService;
  /** Undefined where the application has none. */
  ofKind(kind: MethodKind): KindService | undefined;
}

/** A lock or a semaphore that work can run under. */
export interface Usable {
  using<T>(work: (lease: Lease) => T, options?: AnyAcquireOptions): Promise<Awaited<T>>;
}

/** @throws {LockKeyError} a name cannot be used */
export function usable(services: LockServices, kind: MethodKind, names: LockNames): Usable {
  const { locks } = services;
  if (Array.isArray(names)) {
    // A copy has no holes.
    const all = Array.from(names as readonly string[], (name) => bound(services, kind, name));
    return locks.multi(all as Lock[]);
  }
  const name = names as string;
  if (kind !== 'lock') return bound(services, kind, name);
  return { using: (work, options) => locks.using(name, work, options) };
}

/**
 * The lock or semaphore of this name.
 * @throws {LockKeyError} it cannot be used
 */
export function bound(services: LockServices, kind: MethodKind, name: string): Lock | Semaphore {
  switch (kind) {
    case 'lock':
      return services.locks.get(name);
    case 'fair':
      return (services.ofKind(kind) as FairLockService).get(name);
    case 'read':
    case 'write':
      return (services.ofKind(kind) as ReadWriteLockService).get(name)[kind];
    case 'semaphore':
      return (services.ofKind(kind) as SemaphoreService).get(name);
  }
}
