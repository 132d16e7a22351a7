export {
  RedisThrottlerModule,
  RedisThrottlerStorage,
  type RedisThrottlerOptions,
} from './integrations/throttler/redis-throttler.js';
