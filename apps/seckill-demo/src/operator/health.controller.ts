import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import type { HealthCheckResult } from '@nestjs/terminus';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import { z } from 'zod';
import { PATIENCE_MS, ShopHealth } from './shop-health.js';

const Checks = z.record(z.string(), z.looseObject({ status: z.enum(['up', 'degraded', 'down']) }));
const Health = z.object({
  status: z.enum(['ok', 'degraded', 'error', 'shutting_down']),
  info: Checks,
  error: Checks,
  details: Checks,
});

/** For readiness, never for liveness: a restart restores neither Redis nor Postgres. */
@Controller('health')
@ApiTags('operation')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
    private readonly shop: ShopHealth,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Whether this process can sell' })
  @ApiResponse({
    status: 200,
    description: 'It can; `degraded`: the books differ',
    standardSchema: Health,
  })
  @ApiResponse({
    status: 503,
    description: 'It cannot; `error` has the reason',
    standardSchema: Health,
  })
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  check(): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.locks.isHealthy('locks', { timeoutMs: PATIENCE_MS }),
      () => this.shop.isHealthy(),
    ]);
  }
}
