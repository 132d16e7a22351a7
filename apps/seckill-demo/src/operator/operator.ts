import { TerminusModule } from '@nestjs/terminus';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import type { RealSale } from '../orders/real-sale.js';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { ShopHealth } from './shop-health.js';
import { ShopMetrics } from './shop-metrics.js';

/** Health and metrics, for the operator of the shop. */
export const OPERATOR: RealSale = {
  imports: [TerminusModule],
  controllers: [HealthController, MetricsController],
  providers: [LockHealthIndicator, ShopHealth, ShopMetrics],
};
