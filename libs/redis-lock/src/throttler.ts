export {
  RedisThrottlerModule,
  type RedisThrottlerOptions,
} from './integrations/throttler/redis-throttler.module.js';
export {
  RedisThrottlerStorage,
  type OnThrottlerBackendError,
  type ThrottlerRecord,
} from './integrations/throttler/redis-throttler-storage.js';
