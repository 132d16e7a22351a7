import { Injectable } from '@nestjs/common';
import { CronLock } from 'nestjs-redis-lock';

/** The result of a nightly job. It says which process has run it. */
export interface Run {
  readonly process: number;
}

/** The same moment comes in every process, so a schedule alone runs the job in all of them. */
@Injectable()
export class SalesReport {
  @CronLock('sales-report', { per: 'day' })
  async runOnce(): Promise<Run | undefined> {
    return this.run();
  }

  /** How not to do it: as many reports as there are processes. */
  run(): Promise<Run> {
    return Promise.resolve({ process: process.pid });
  }
}
