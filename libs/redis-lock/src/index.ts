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
  QuorumError,
  ReplicationError,
  type BackendOutcome,
  type LeaseLostReason,
  type LockErrorCode,
} from './core/errors.js';
export type { Lease, LeaseState } from './core/lease.js';
export type { AcquireOptions, Lock, LockedWork } from './core/lock.js';
export type { MultiLease } from './core/multi-lease.js';
export type { MultiLock } from './core/multi-lock.js';
export type { LockEvent, LockObserver } from './core/observer.js';
export { CurrentLock } from './core/owner-scope.js';

export { LockService } from './primitives/reentrant-lock/lock-service.js';

export { LockExceptionFilter } from './nest/lock-exception.filter.js';
export { LockKey } from './nest/lock-key.js';
export { LockInterceptor } from './nest/lock.interceptor.js';
export {
  RedisLockModule,
  type RedisLockModuleAsyncOptions,
  type RedisLockModuleOptions,
  type RedisLockOptions,
  type RedisLockOptionsFactory,
} from './nest/redis-lock.module.js';
export { WithLock, type LockedMethodDecorator } from './nest/with-lock.decorator.js';
export type { OnBusy, WithLockOptions } from './nest/with-lock.options.js';
