import { Injectable } from '@nestjs/common';
import { LockKey, WithLock } from 'nestjs-redis-lock';

export abstract class Accounts {
  abstract move(from: string, to: string, cents: number): Promise<void>;
}

@Injectable()
export class Bank {
  constructor(private readonly accounts: Accounts) {}

  @WithLock(['account_<from>', 'account_<to>'])
  async transfer(
    @LockKey('from') from: string,
    @LockKey('to') to: string,
    cents: number,
  ): Promise<void> {
    await this.accounts.move(from, to, cents);
  }
}
