import { Controller, HttpCode, Post, Query } from '@nestjs/common';
import { ReportQuery } from './report.schemas.js';
import { SalesReport } from './sales-report.js';

/** Stands for the clock: the arena decides the moment. */
@Controller('api/reports')
export class ReportController {
  constructor(private readonly report: SalesReport) {}

  @Post()
  @HttpCode(200)
  async run(
    @Query({ schema: ReportQuery }) { strategy }: ReportQuery,
  ): Promise<{ readonly ran: boolean }> {
    const run = strategy === 'cron-lock' ? await this.report.runOnce() : await this.report.run();
    return { ran: run !== undefined };
  }
}
