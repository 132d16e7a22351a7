import type { Lease } from '../core/lease.js';
import {
  LOCK_OPTIONS,
  PERMIT_OPTIONS,
  READ_OPTIONS,
  type AnyAcquireOptions,
} from '../core/options.js';
import { FairLockService } from '../primitives/fair-lock/fair-lock-service.js';
import { ReadWriteLockService } from '../primitives/read-write-lock/read-write-lock-service.js';
import type { LockService } from '../primitives/reentrant-lock/lock-service.js';
import { SemaphoreService } from '../primitives/semaphore/semaphore-service.js';

/** What a decorated method takes. */
export type LockKind = 'lock' | 'fair' | 'read' | 'write' | 'semaphore';

/** One name, or several that are taken as one multi lock. */
export type LockNames = string | readonly string[];

/** What a call of each kind may say. */
export const OPTIONS_OF = {
  lock: LOCK_OPTIONS,
  fair: LOCK_OPTIONS,
  read: READ_OPTIONS,
  write: LOCK_OPTIONS,
  semaphore: PERMIT_OPTIONS,
} as const satisfies Record<LockKind, readonly string[]>;

/** The service that a kind needs beside `LockService`. */
export const SERVICE_OF = {
  lock: undefined,
  fair: FairLockService,
  read: ReadWriteLockService,
  write: ReadWriteLockService,
  semaphore: SemaphoreService,
} as const satisfies Record<LockKind, unknown>;

export type KindService = FairLockService | ReadWriteLockService | SemaphoreService;

/** What an application has for decorated methods. */
export interface LockServices {
  readonly locks: LockService;
  /** Undefined where the application has none. */
  ofKind(kind: Exclude<LockKind, 'lock'>): KindService | undefined;
}

/** Something that work can be run under. */
export interface Usable {
  using<T>(work: (lease: Lease) => T, options?: AnyAcquireOptions): Promise<Awaited<T>>;
}

/** @throws {LockKeyError} a name cannot be used */
export function usable(services: LockServices, kind: LockKind, names: LockNames): Usable {
  const { locks } = services;
  if (kind === 'semaphore') return (services.ofKind(kind) as SemaphoreService).get(names as string);
  if (Array.isArray(names)) {
    return locks.multi(names.map((name: string) => lockOf(services, kind, name)));
  }
  const name = names as string;
  if (kind !== 'lock') return lockOf(services, kind, name);
  return { using: (work, options) => locks.using(name, work, options) };
}

function lockOf(services: LockServices, kind: Exclude<LockKind, 'semaphore'>, name: string) {
  switch (kind) {
    case 'lock':
      return services.locks.get(name);
    case 'fair':
      return (services.ofKind(kind) as FairLockService).get(name);
    case 'read':
    case 'write':
      return (services.ofKind(kind) as ReadWriteLockService).get(name)[kind];
  }
}
