import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { lastDifferences } from '../orders/reconciler.js';

/** Less than the time that a load balancer or Prometheus waits for an answer. */
export const PATIENCE_MS = 1_000;

/** Whether Postgres answers, and the result of the last reconciliation. */
@Injectable()
export class ShopHealth {
  constructor(
    private readonly health: HealthIndicatorService,
    @Inject(DATABASE) private readonly db: Database,
  ) {}

  /** A difference in the books needs a person, not another process: status degraded, not down. */
  async isHealthy(): Promise<HealthIndicatorResult> {
    let differences: readonly string[] = [];
    const postgres = await this.health
      .check('postgres')
      .attempt(async () => {
        differences = await lastDifferences(this.db);
      })
      .withTimeout(PATIENCE_MS);
    if (postgres.postgres.status === 'down') return postgres;
    const books = this.health.check('books');
    return {
      ...postgres,
      ...(differences.length === 0 ? books.up() : books.degraded({ differences })),
    };
  }
}
