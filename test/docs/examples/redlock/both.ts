import { Injectable } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import Redlock from 'redlock';

// RedisLockModule.forRoot({ keyPrefix: 'lock:' }): redlock's key is the name, without the prefix
@Injectable()
export class BothLocks {
  constructor(
    private readonly redlock: Redlock,
    private readonly locks: LockService,
  ) {}

  /** The old lock, then the new one. The signal aborts when one of them is lost. */
  async using<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.redlock.using([name], 10_000, (old) =>
      this.locks.using(name, (lease) => work(AbortSignal.any([old, lease.signal]))),
    );
  }
}
