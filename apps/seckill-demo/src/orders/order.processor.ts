import { setTimeout as elapse } from 'node:timers/promises';
import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Logger } from '@nestjs/common';
import type { OnModuleDestroy } from '@nestjs/common';
import { DelayedError } from 'bullmq';
import type { Job } from 'bullmq';
import { LockShutdownError, LockTimeoutError } from 'nestjs-redis-lock';
import { OrderDesk } from './order-desk.js';
import { ORDER_QUEUE } from './order-queue.js';
import type { OrderTask } from './order-queue.js';

/** The worker tries a busy product again after this time, or at the end of its lock. */
const PUT_OFF_MS = 1_000;
/** Longer than a job takes that holds its lock. */
const PATIENCE_MS = 1_000;

@Processor(ORDER_QUEUE, {
  concurrency: 5,
  // The job of a dead process is found after both of these.
  lockDuration: 5_000,
  stalledInterval: 2_000,
  // A job may meet any number of processes that die.
  maxStalledCount: Number.MAX_SAFE_INTEGER,
})
export class OrderProcessor extends WorkerHost implements OnModuleDestroy {
  readonly #logger = new Logger('OrderProcessor');

  constructor(private readonly desk: OrderDesk) {
    super();
  }

  async process(job: Job<{ orderId: string }, void, OrderTask>, token?: string): Promise<void> {
    try {
      await this.desk[job.name](job.data.orderId);
    } catch (error) {
      const delayMs = delayAfter(error);
      if (delayMs === undefined) throw error;
      await job.moveToDelayed(Date.now() + delayMs, token);
      throw new DelayedError();
    }
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job | undefined, error: Error): void {
    this.#logger.warn(`${job?.name ?? 'a job'} of order ${job?.id ?? '?'}: ${error.message}`);
  }

  /** Without a listener, BullMQ prints each error while Redis is unreachable. */
  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.#logger.debug(error.message);
  }

  /** Before locks and database close. Without Redis, BullMQ would wait for it here. */
  async onModuleDestroy(): Promise<void> {
    await Promise.race([this.worker.pause(), elapse(PATIENCE_MS, undefined, { ref: false })]);
    await this.worker.close(true);
  }
}

/** A job that did not get its lock is not wrong: it is delayed, at no cost of an attempt. */
function delayAfter(error: unknown): number | undefined {
  if (error instanceof LockTimeoutError) return Math.min(error.retryAfterMs, PUT_OFF_MS);
  return error instanceof LockShutdownError ? PUT_OFF_MS : undefined;
}
