import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { Queue, type Job } from 'bullmq';
import { WithLock } from 'nestjs-redis-lock';

export abstract class Reports {
  abstract write(month: string): Promise<void>;
}

// In the process that receives requests: it holds no lock.
@Injectable()
export class ReportRequests {
  constructor(@InjectQueue('reports') private readonly queue: Queue) {}

  async request(month: string): Promise<void> {
    const once = {
      jobId: `report-${month}`,
      attempts: 3,
      removeOnComplete: true,
      removeOnFail: true,
    };
    await this.queue.add('report', { month }, once);
  }
}

// In the worker, which acquires the lock itself.
@Processor('reports')
export class ReportWorker extends WorkerHost {
  constructor(private readonly reports: Reports) {
    super();
  }

  @WithLock((job: Job<{ month: string }>) => `report_${job.data.month}`)
  async process({ data }: Job<{ month: string }>): Promise<void> {
    await this.reports.write(data.month);
  }
}
