export {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockError,
  LockKeyError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  type BackendOutcome,
  type LeaseLostReason,
  type LockErrorCode,
} from './core/errors.js';
export type { Lease, LeaseState } from './core/lease.js';
export type { AcquireOptions, Lock, LockedWork } from './core/lock.js';
export type { LockEvent, LockObserver } from './core/observer.js';
export { CurrentLock } from './core/owner-scope.js';

export { LockService } from './primitives/reentrant-lock/lock-service.js';
