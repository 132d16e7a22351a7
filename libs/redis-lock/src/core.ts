export type { LockAcquisitionMessage } from './core/trace.js';
export {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockError,
  LockKeyError,
  LockLimitError,
  LockNestingError,
  LockQuorumError,
  LockReplicationError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  type LockErrorCode,
} from './core/api/errors.js';
export type { Lease, PermitLease } from './core/api/lease.js';
export { LockMonitor, type LockStatus } from './primitives/monitor/lock-monitor.js';
export type { LockInspection } from './primitives/monitor/inspection.js';
export type {
  AcquireOptions,
  ForceReleaseOptions,
  Lock,
  Nesting,
  WaitOptions,
} from './core/api/lock.js';
export type { MultiLease } from './primitives/multi-lock/multi-lease.js';
export type { MultiLock } from './primitives/multi-lock/multi-lock.js';
export type {
  LockEvent,
  LockKind,
  LockObserver,
  LockProcess,
  LockSubject,
} from './core/api/observer.js';
export type { LockSettings, LockTuning } from './core/api/settings.js';
export { CurrentLock } from './core/holding/scope.js';

export type { CountDownLatch } from './primitives/count-down-latch/latch.js';
export { LatchService } from './primitives/count-down-latch/latch-service.js';
export { FairLockService } from './primitives/fair-lock/fair-lock-service.js';
export { FencingGuard, type SqlFence } from './primitives/fencing-guard/fencing-guard.js';
export {
  ReadWriteLockService,
  type ReadWriteLock,
} from './primitives/read-write-lock/read-write-lock-service.js';
export { RedLockService } from './primitives/red-lock/red-lock-service.js';
export { LockService } from './primitives/lock/lock-service.js';
export type { CountingSemaphore } from './primitives/counting-semaphore/counting-semaphore.js';
export type {
  Semaphore,
  SemaphoreAcquireOptions,
  SemaphoreOptions,
} from './primitives/semaphore/semaphore.js';
export { SemaphoreService } from './primitives/semaphore/semaphore-service.js';

export { openLocks, type OpenLocksOptions } from './family/open-locks.js';
export type { LockEventMessage } from './family/event-channel.js';
export type { LockFamily } from './family/lock-family.js';
export type { RedisLockOptions } from './family/options.js';
export type { ConnectionOption, IovalkeyClient } from './ioredis/choose-client.js';
