export {
  LockHealthIndicator,
  type LockHealth,
  type LockHealthOptions,
} from './integrations/terminus/lock-health.indicator.js';
