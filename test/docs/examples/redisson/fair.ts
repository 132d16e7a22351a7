import { Injectable } from '@nestjs/common';
import { WithFairLock } from 'nestjs-redis-lock';

@Injectable()
export class Counter {
  @WithFairLock('counter', { waitTimeMs: Infinity })
  async serve(work: () => Promise<void>): Promise<void> {
    await work();
  }
}
