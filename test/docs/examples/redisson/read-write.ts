import { Injectable } from '@nestjs/common';
import { LockKey, WithReadLock, WithWriteLock } from 'nestjs-redis-lock';

@Injectable()
export class Prices {
  readonly cents = new Map<string, number>();

  @WithReadLock('price_<sku>')
  async show(@LockKey('sku') sku: string): Promise<number | undefined> {
    return this.cents.get(sku);
  }

  @WithWriteLock('price_<sku>')
  async change(@LockKey('sku') sku: string, cents: number): Promise<void> {
    this.cents.set(sku, cents);
  }
}
