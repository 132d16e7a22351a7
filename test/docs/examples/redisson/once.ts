import { Injectable } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

@Injectable()
export class CodeService {
  @WithLock('code#<phone>', {
    waitTimeMs: 0,
    minHoldMs: 5_000,
    leaseTimeMs: 5_000,
    onBusy: () => false,
  })
  async send(@LockKey('phone') phone: string): Promise<boolean> {
    return true;
  }
}
