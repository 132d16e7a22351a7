export type { HoldKind } from './testing/in-process-backend.js';
export {
  LockTesting,
  type HeldLock,
  type HoldElsewhereOptions,
  type LockTestingOptions,
} from './testing/lock-testing.js';
export type { ManualClock } from './testing/manual-clock.js';
export {
  RedisLockTestingModule,
  type RedisLockTestingModuleAsyncOptions,
  type RedisLockTestingModuleOptions,
} from './testing/redis-lock-testing.module.js';
