import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { JobsOptions, Queue } from 'bullmq';
import { Redis } from 'ioredis';

export const ORDER_QUEUE = 'orders';
export const QUEUE_REDIS = Symbol('QueueRedis');

/** A task for an order; a second run does no harm. */
export const ORDER_TASKS = ['take', 'expire', 'settle'] as const;
export type OrderTask = (typeof ORDER_TASKS)[number];

export interface OrderJob {
  readonly task: OrderTask;
  readonly orderId: string;
  readonly delayMs?: number;
}

/** A finished job is removed at once, so that you can add the same job again. */
const ALWAYS = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 100 },
  removeOnComplete: true,
  removeOnFail: true,
} satisfies JobsOptions;

/** Jobs in Redis, which may be lost: the orders themselves contain the work to do. */
@Injectable()
export class OrderQueue implements OnApplicationShutdown {
  readonly #logger = new Logger('OrderQueue');

  constructor(
    @InjectQueue(ORDER_QUEUE) private readonly queue: Queue,
    @Inject(QUEUE_REDIS) private readonly redis: Redis,
  ) {
    // Without a listener BullMQ prints every failed attempt to connect.
    queue.on('error', (error) => {
      this.#logger.debug(error.message);
    });
  }

  /**
   * Do not wait for it: without Redis it takes until Redis is back. The reconciliation adds jobs
   * that were lost meanwhile.
   */
  add(...jobs: readonly OrderJob[]): void {
    this.#addAll(jobs).catch((error: unknown) => {
      this.#logger.warn(`jobs were not added: ${String(error)}`);
    });
  }

  /** By default, BullMQ waits for an unreachable Redis. */
  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  async #addAll(jobs: readonly OrderJob[]): Promise<void> {
    await this.queue.addBulk(
      jobs.map(({ task, orderId, delayMs = 0 }) => ({
        name: task,
        data: { orderId },
        opts: { ...ALWAYS, jobId: jobIdOf(task, orderId), delay: delayMs },
      })),
    );
  }
}

/** One job of a kind for each order: a second one is harmless. */
function jobIdOf(task: OrderTask, orderId: string): string {
  return task === 'take' ? orderId : `${task}-${orderId}`;
}

/** BullMQ's workers need this connection: their commands wait as long as Redis is unreachable. */
export function connectQueue(url: string): Redis {
  return new Redis(url, {
    maxRetriesPerRequest: null,
    disconnectTimeout: 50,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  });
}
