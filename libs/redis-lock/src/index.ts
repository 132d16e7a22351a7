export * from './core.js';

export { CronLock, type CronLockOptions } from './nest/cron-lock.decorator.js';
export type { LockExceptionFilterOptions } from './nest/lock-answers.js';
export { LockExceptionFilter } from './nest/lock-exception.filter.js';
export {
  getLockToken,
  InjectLock,
  type LockTemplate,
  type LockTemplateOptions,
  type LockValues,
} from './nest/lock-features.js';
export { LockKey } from './nest/lock-key.js';
export { LockInterceptor } from './nest/lock.interceptor.js';
export {
  RedisLockModule,
  type RedisLockModuleAsyncOptions,
  type RedisLockModuleOptions,
  type RedisLockOptionsFactory,
} from './nest/redis-lock.module.js';
export { getLockServiceToken, InjectLockService } from './nest/service-tokens.js';
export {
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  WithWriteLock,
  type LockedMethodDecorator,
} from './nest/with-lock.decorator.js';
export type { OnBackendError, OnBusy, WithLockOptions } from './nest/with-lock.options.js';
