import { Injectable } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

export abstract class Sms {
  abstract send(phone: string): Promise<void>;
}

@Injectable()
export class LoginCodes {
  constructor(private readonly sms: Sms) {}

  @WithLock('code_<phone>', { waitTimeMs: 0, minHoldMs: 60_000, holdAfter: 'success' })
  async send(@LockKey('phone') phone: string): Promise<void> {
    await this.sms.send(phone);
  }
}
