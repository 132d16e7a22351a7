import type { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';

export abstract class Queue {
  abstract add(job: { identifier: string }): Promise<void>;
}

/** In the scheduler. */
export async function schedule(redis: Redis, queue: Queue): Promise<void> {
  const mutex = new Mutex(redis, 'report', { lockTimeout: 1_800_000, refreshInterval: 0 });
  if (await mutex.tryAcquire()) await queue.add({ identifier: mutex.identifier });
}

/** In the worker, which continues with the lock of the scheduler. */
export async function work(redis: Redis, identifier: string, report: () => Promise<void>) {
  const mutex = new Mutex(redis, 'report', { identifier, acquiredExternally: true });
  await mutex.acquire();
  try {
    await report();
  } finally {
    await mutex.release();
  }
}
