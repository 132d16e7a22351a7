import { Injectable } from '@nestjs/common';
import { CronLock } from 'nestjs-redis-lock';

/** The result of a nightly job. It names the process that ran it. */
export interface Run {
  readonly process: number;
}

/** The job is due in every process at once, so a schedule alone runs it in all of them. */
@Injectable()
export class SalesReport {
  @CronLock('sales-report', { per: 'day' })
  async runOnce(): Promise<Run | undefined> {
    return this.run();
  }

  /** The wrong way: one report for each process. */
  run(): Promise<Run> {
    return Promise.resolve({ process: process.pid });
  }
}
