import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { LockService, SemaphoreService } from 'nestjs-redis-lock';
import { Mutex, Semaphore } from 'redis-semaphore';

@Injectable()
export class BothLocks {
  constructor(
    private readonly redis: Redis,
    private readonly locks: LockService,
    private readonly semaphores: SemaphoreService,
  ) {}

  /** The old mutex, then the new lock. The signal aborts when one of them is lost. */
  async using<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const lost = new AbortController();
    const mutex = new Mutex(this.redis, name, {
      onLockLost: (error) => {
        lost.abort(error);
      },
    });
    await mutex.acquire();
    try {
      return await this.locks.using(name, (lease) =>
        work(AbortSignal.any([lost.signal, lease.signal])),
      );
    } finally {
      await mutex.release();
    }
  }

  /** A permit of the old semaphore, then one of the new semaphore. Both have `limit` permits. */
  async usingPermit<T>(name: string, limit: number, work: () => Promise<T>): Promise<T> {
    const old = new Semaphore(this.redis, name, limit);
    const semaphore = this.semaphores.get(name, { capacity: limit });
    await old.acquire();
    try {
      return await semaphore.using(work);
    } finally {
      await old.release();
    }
  }
}
