export {
  RedisThrottlerModule,
  RedisThrottlerStorage,
  type OnThrottlerBackendError,
  type RedisThrottlerOptions,
  type ThrottlerRecord,
} from './integrations/throttler/redis-throttler.js';
