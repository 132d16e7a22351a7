import { Injectable } from '@nestjs/common';
import { WithLock } from 'nestjs-redis-lock';

export abstract class Queue {
  abstract add(job: { id: string }): Promise<void>; // the queue holds one job with an id at a time
}

/** In the scheduler, without a lock. */
export async function schedule(queue: Queue): Promise<void> {
  await queue.add({ id: 'report' });
}

/** In the worker, which acquires the lock itself. */
@Injectable()
export class Worker {
  @WithLock('report', { waitTimeMs: 0, onBusy: 'skip' })
  async work(report: () => Promise<void>): Promise<void> {
    await report();
  }
}
