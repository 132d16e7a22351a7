export { collectLockMetrics } from './integrations/prometheus/collect-lock-metrics.js';
