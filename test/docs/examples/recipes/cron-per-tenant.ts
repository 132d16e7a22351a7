import { Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { CronLock, LockKey } from 'nestjs-redis-lock';

export abstract class Tenants {
  abstract ids(): Promise<string[]>;
  abstract report(id: string): Promise<void>;
}

@Injectable()
export class TenantReports {
  private readonly logger = new Logger(TenantReports.name);

  constructor(private readonly tenants: Tenants) {}

  @Cron('0 * * * *') // in every instance
  async all(): Promise<void> {
    for (const tenant of await this.tenants.ids()) {
      await this.one(tenant).catch((error: unknown) =>
        this.logger.error(`${tenant}: ${String(error)}`),
      );
    }
  }

  @CronLock('report_<tenant>', { per: 'hour', atMostMs: 600_000 })
  async one(@LockKey('tenant') tenant: string): Promise<void> {
    await this.tenants.report(tenant);
  }
}
