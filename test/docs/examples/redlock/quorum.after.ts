import { Injectable } from '@nestjs/common';
import { RedLockService } from 'nestjs-redis-lock';

// RedisLockModule.forRoot({ redLock: { nodes: ['redis://a:6379', 'redis://b:6379', 'redis://c:6379'] } })
@Injectable()
export class Settlement {
  constructor(private readonly redLocks: RedLockService) {}

  async run(day: string, settle: () => Promise<void>): Promise<void> {
    await this.redLocks.using(`settlement_${day}`, settle);
  }
}
