import { Injectable } from '@nestjs/common';
import Redlock from 'redlock';

export abstract class Accounts {
  abstract move(from: string, to: string, cents: number): Promise<void>;
}

@Injectable()
export class Bank {
  constructor(
    private readonly redlock: Redlock,
    private readonly accounts: Accounts,
  ) {}

  async transfer(from: string, to: string, cents: number): Promise<void> {
    await this.redlock.using([`account_${from}`, `account_${to}`], 10_000, () =>
      this.accounts.move(from, to, cents),
    );
  }
}
